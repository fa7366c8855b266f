// Whether a checkpoint is of the model that its configuration describes.
#pragma once

#include <string_view>

#include "export/checkpoint.h"
#include "export/model_config.h"

namespace gumbel {

/// Checks that `weights` have no part of a model that `config` says it lacks: more layers, routed
/// experts, a shared expert, per-layer embeddings. The program would be made without that part, and
/// answer with nonsense. Tensors of names that no family reads are not looked at. `where` begins
/// messages. Throws Error(kCorruptFile).
void verify_parts(const Checkpoint& weights, const ModelConfig& config, std::string_view where);

}  // namespace gumbel
