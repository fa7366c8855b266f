// A tokenizer from the metadata of a GGUF file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/tokenizer_definition.h"

namespace gumbel {

/// The values of a GGUF file's `tokenizer.ggml.*` keys; an absent key is empty.
struct GgufTokenizer {
  std::string model;                       ///< model: "llama", "gpt2" or "gemma4".
  std::string pre;                         ///< pre: see set_pre_tokenizer(); empty is "default".
  std::vector<std::string> tokens;         ///< tokens
  std::vector<float> scores;               ///< scores
  std::vector<std::int32_t> token_types;   ///< token_type
  std::vector<std::string> merges;         ///< merges: "left right"
  std::optional<std::int64_t> bos_id;      ///< bos_token_id
  std::optional<std::int64_t> eos_id;      ///< eos_token_id
  std::optional<std::int64_t> eot_id;      ///< eot_token_id
  std::optional<std::int64_t> eom_id;      ///< eom_token_id
  std::optional<std::int64_t> unknown_id;  ///< unknown_token_id
  std::optional<bool> add_bos;             ///< add_bos_token
  std::optional<bool> add_eos;             ///< add_eos_token
  std::optional<bool> add_space_prefix;    ///< add_space_prefix
};

/// The tokenizer that `source` describes, with llama.cpp's defaults for absent keys. A special id
/// outside the vocabulary is taken as absent, with a line in `notes` where that is not null. Throws
/// Error(kUnsupported) that names a model or pre-tokenizer Gumbel does not have, and
/// Error(kCorruptFile) where arrays disagree in length.
TokenizerDefinition tokenizer_from_gguf(GgufTokenizer source,
                                        std::vector<std::string>* notes = nullptr);

}  // namespace gumbel
