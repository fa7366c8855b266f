// Gemma 3 (Gemma Team 2025): embeddings scaled by the root of their width, norms before and after
// each block, norms of query and key heads, and layers with a sliding window that have rotary
// frequencies of their own.
#include <fmt/format.h>

#include <cmath>

#include "export/models/layers.h"

namespace gumbel {

ValueId build_gemma3(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs) {
  const double epsilon = config.rms_norm_epsilon;
  const ValueId rotary_full = g.rotary_table(inputs.input_pos, "rotary_frequencies",
                                             rotary_frequencies(config.rotary, config.head_dim));
  const ValueId rotary_sliding =
      g.rotary_table(inputs.input_pos, "rotary_frequencies_sliding",
                     rotary_frequencies(config.rotary_local, config.head_dim));
  const auto scale = static_cast<float>(std::sqrt(static_cast<double>(config.hidden_size)));
  ValueId x = g.embedding(inputs.tokens, "model.embed_tokens.weight", config.vocab_size,
                          config.hidden_size, scale);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    const bool sliding =
        config.layer_kinds[static_cast<size_t>(layer)] == LayerKind::kSlidingAttention;
    SelfAttention block;
    block.prefix = prefix + "self_attn.";
    block.rotary_table = sliding ? rotary_sliding : rotary_full;
    block.attention_scale =
        stretched_attention_scale(config, sliding ? config.rotary_local : config.rotary);
    block.window = sliding ? config.sliding_window : 0;
    block.norm_heads = true;

    ValueId h = g.rms_norm(x, prefix + "input_layernorm.weight", epsilon);
    h = self_attention(g, config, inputs, h, block);
    h = g.rms_norm(h, prefix + "post_attention_layernorm.weight", epsilon);
    x = g.add(x, h);

    h = g.rms_norm(x, prefix + "pre_feedforward_layernorm.weight", epsilon);
    h = gated_mlp(g, config, h, prefix + "mlp.", config.intermediate_size, Activation::kGeluTanh);
    h = g.rms_norm(h, prefix + "post_feedforward_layernorm.weight", epsilon);
    x = g.add(x, h);
  }
  return g.rms_norm(x, "model.norm.weight", epsilon);
}

}  // namespace gumbel
