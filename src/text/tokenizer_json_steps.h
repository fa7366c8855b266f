// The parts of a tokenizer.json around its model: normalizer, pre-tokenizer, decoder.
#pragma once

#include <nlohmann/json.hpp>

#include "base/json_fields.h"
#include "text/tokenizer_definition.h"

namespace gumbel {

/// The fields of a part of a tokenizer.json.
inline JsonFields fields(const nlohmann::json& part) { return {part, "tokenizer.json"}; }

/// Sets `kind` and everything that the sections "normalizer", "pre_tokenizer" and "decoder" of
/// `document` say: `normalization`, `space_prefix`, `pre_tokenizer`, `decode_strips_prefix`,
/// `spaces_in_all_tokens`. Throws Error(kUnsupported) that names what cannot be honoured.
void read_tokenizer_steps(const nlohmann::json& document, TokenizerDefinition& definition);

}  // namespace gumbel
