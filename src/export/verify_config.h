// Ranges that every imported hyperparameter must lie in.
#pragma once

#include <string_view>

#include "export/model_config.h"

namespace gumbel {

/// Checks `config` before anything is computed from it: sizes from 1 to bounds far above any model
/// (so that products of two sizes cannot overflow), kv_heads dividing heads, an even head_dim,
/// finite positive factors, one kind a layer. Throws Error(kCorruptFile) that starts
/// with `where` and names the hyperparameter, its range and its value.
void verify_config(const ModelConfig& config, std::string_view where);

}  // namespace gumbel
