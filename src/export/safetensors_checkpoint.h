// The tensors of safetensors files as a checkpoint.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "export/checkpoint.h"
#include "export/model_config.h"
#include "export/safetensors_file.h"

namespace gumbel {

/// The weight type of a dtype: F32, F16 and BF16 have one.
std::optional<WeightType> safetensors_weight_type(std::string_view dtype);

/// A checkpoint over `file`. The prefixes by which multimodal checkpoints set their language model
/// apart are taken off. Gemma stores a norm weight as w and multiplies by 1 + w: its tensors that
/// end in "norm.weight" are read as 1 + w in float32. Tensors of other dtypes are there until asked
/// for: tensor() then throws Error(kUnsupported) that names the dtype. `source` begins messages.
std::unique_ptr<Checkpoint> safetensors_checkpoint(SafetensorsFile file, const ModelConfig& config,
                                                   std::string_view source);

}  // namespace gumbel
