// Llama (Touvron et al. 2023). Llama 3 and SmolLM2 have this architecture too.
#include "export/models/layers.h"

namespace gumbel {

ValueId build_llama(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs) {
  return pre_norm_decoder(g, config, inputs, /*norm_heads=*/false);
}

}  // namespace gumbel
