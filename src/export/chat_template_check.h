// A source's chat template, before it becomes a part of the program.
#pragma once

#include "export/import.h"

namespace gumbel {

/// Adds the token with which the chat template ends an answer to the tokens that end a turn. A
/// template that is none, or that the model has no tokenizer for, is left out, and a note says why.
void check_chat_template(ImportedModel& model);

}  // namespace gumbel
