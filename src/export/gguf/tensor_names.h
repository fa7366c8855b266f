// GGUF's names of tensors and Hugging Face's.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "export/model_config.h"

namespace gumbel {

/// The name under which a checkpoint has GGUF's tensor `name`; nothing where a model of this
/// configuration has no such tensor. Qwen3.5's `ssm_a`, which is -exp(A_log), becomes
/// "linear_attn.A".
std::optional<std::string> hugging_face_name(std::string_view name, const ModelConfig& config);

/// The layer of a name "blk.N.part", with `part` set to what follows; nothing for another name.
std::optional<int64_t> gguf_layer(std::string_view name, std::string_view* part = nullptr);

/// Whether the tensor is one of config.prediction_layers, which checkpoints leave out.
bool is_prediction_tensor(std::string_view name, const ModelConfig& config);

}  // namespace gumbel
