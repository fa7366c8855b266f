// Special token ids beside the rows of the embedding table.
#pragma once

#include "export/import.h"

namespace gumbel {

/// Takes over the BOS id and the end-of-turn ids that the tokenizer knows, and leaves out every
/// special id that is no row of the embedding table, [0, config.vocab_size): BOS, EOS, end-of-turn
/// and unknown ids of `model` and of its tokenizer, with a note for each kind. The tokenizer's BOS
/// id goes before the model's own where both are rows. Other tokens of the tokenizer may lie beyond
/// the table: a session refuses them. `model.eos_ids` is ascending afterwards, each id once.
void fit_special_ids(ImportedModel& model);

}  // namespace gumbel
