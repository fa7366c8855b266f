#include "export/verify_parts.h"

#include <fmt/format.h>

#include "base/error.h"

namespace gumbel {

void verify_parts(const Checkpoint& weights, const ModelConfig& config, std::string_view where) {
  const auto refuse = [&](const std::string& tensor, std::string_view said) {
    if (weights.has(tensor))
      fail(ErrorCode::kCorruptFile, "{}: the configuration has {}, but there is a tensor '{}'",
           where, said, tensor);
  };
  refuse(fmt::format("model.layers.{}.input_layernorm.weight", config.layers),
         fmt::format("{} layers", config.layers));
  if (config.experts == 0)
    for (const char* router : {"router.proj.weight", "mlp.gate.weight"})
      refuse(fmt::format("model.layers.0.{}", router), "no experts");
  if (config.shared_expert_intermediate_size == 0)
    refuse("model.layers.0.mlp.shared_expert.gate_proj.weight", "no shared expert");
  if (config.per_layer_input_size == 0)
    refuse("model.embed_tokens_per_layer.weight", "no per-layer embeddings");
}

}  // namespace gumbel
