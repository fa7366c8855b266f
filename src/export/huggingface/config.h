// Hugging Face's config.json, in the older and the newer spelling of transformers.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "export/model_config.h"

namespace gumbel {

/// Reads the hyperparameters of llama, qwen3, gemma3_text, or the text part (text_config) of a
/// multimodal gemma3. Rotary embeddings are understood as rope_theta, rope_scaling and
/// rope_local_base_freq (transformers up to 4) and as rope_parameters, flat or per kind of layer
/// (transformers 5). Keys that are absent take the defaults of transformers' configuration classes
/// where real files rely on them. `where` begins messages, e.g. the file's path.
///
/// Throws Error: kUnsupported for a model_type, activation, rotary scaling, bias, softcapping or
/// quantization that the families do not have (named, with what is accepted); kNotFound for a
/// missing key; kCorruptFile for a value of the wrong type or out of range.
ModelConfig read_hf_config(const nlohmann::json& config, std::string_view where);

}  // namespace gumbel
