// The tokenizer and the chat template in a GGUF file's metadata.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "export/gguf/file.h"
#include "text/tokenizer_definition.h"

namespace gumbel {

/// The tokenizer that the keys `tokenizer.ggml.*` describe; nothing where the file has none. What
/// is left out of them is added to `notes`, a line each. Throws Error(kCorruptFile) for a key of
/// the wrong type, and as tokenizer_from_gguf does.
std::optional<TokenizerDefinition> read_gguf_tokenizer(const GgufFile& file,
                                                       std::vector<std::string>& notes);

/// `tokenizer.chat_template`, or an empty string.
std::string read_gguf_chat_template(const GgufFile& file);

}  // namespace gumbel
