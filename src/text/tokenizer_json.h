// A tokenizer from Hugging Face's tokenizer.json.
#pragma once

#include <string_view>

#include "text/tokenizer_definition.h"

namespace gumbel {

/// Parses the text of a tokenizer.json file and, unless empty, of the tokenizer_config.json beside
/// it (which has the names of the BOS and EOS tokens and whether they are added). Byte-pair
/// encoding is understood, with the byte-level and the "▁" spelling. Throws Error(kUnsupported)
/// that names whatever cannot be honoured, and Error(kCorruptFile) for text that is not such a
/// file.
TokenizerDefinition tokenizer_from_json(std::string_view tokenizer_json,
                                        std::string_view tokenizer_config_json = {});

}  // namespace gumbel
