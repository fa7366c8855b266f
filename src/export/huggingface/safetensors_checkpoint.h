// The tensors of safetensors files as a checkpoint.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "export/checkpoint.h"
#include "export/huggingface/safetensors_file.h"
#include "export/model_config.h"

namespace gumbel {

/// The weight type of a dtype: F32, F16 and BF16 have one.
std::optional<WeightType> safetensors_weight_type(std::string_view dtype);

/// The part of a multimodal checkpoint beside its language model that the tensor `name` belongs to:
/// "vision", "audio" or "multi-token prediction"; empty for the language model's own.
std::string_view skipped_part(std::string_view name);

/// A checkpoint over `file`, without skipped parts. The prefixes by which multimodal checkpoints
/// set their language model apart are taken off. Gemma 3 and Qwen3.5 store most norm weights as w
/// and multiply by 1 + w: these are read as 1 + w in float32. Experts' "gate_up_proj" is also there
/// as its two halves. Where `config` ties the LM head to the embedding table, and the head is all
/// that is stored, it is found under the table's name. Tensors of other dtypes are there until
/// asked for: tensor() then throws Error(kUnsupported) that names the dtype. `source` begins
/// messages.
std::unique_ptr<Checkpoint> safetensors_checkpoint(SafetensorsFile file, const ModelConfig& config,
                                                   std::string_view source);

}  // namespace gumbel
