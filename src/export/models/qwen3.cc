// Qwen3 (Qwen Team 2025): Llama's layers with a norm of every query and key head.
#include "export/models/layers.h"

namespace gumbel {

ValueId build_qwen3(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs) {
  return pre_norm_decoder(g, config, inputs, /*norm_heads=*/true);
}

}  // namespace gumbel
