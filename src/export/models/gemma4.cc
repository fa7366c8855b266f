// Gemma 4 (Gemma Team 2026), in its three shapes: dense (31B), with routed experts beside the MLP
// (26B-A4B), and with an embedding of its own for every layer and later layers that use the keys
// and values of earlier ones (E2B, E4B; per-layer embeddings are Gemma 3n's). Beside Gemma 3's
// norms before and after each block: full-attention layers have larger heads and may use their keys
// as values, values are normed too, scores are not scaled, and each layer ends with a factor.
#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "export/models/layers.h"

namespace gumbel {
namespace {

struct Layer {
  int64_t index;
  std::string prefix;  // "model.layers.0."
  bool sliding;
  ValueId rotary_table;
  int64_t head_dim;
  int64_t kv_heads;
  // The layer whose keys and values this one uses: itself, or an earlier one of the same kind.
  int64_t kv_layer;
};

// The last layer before the sharing ones that has the kind of `layer`.
int64_t kv_layer(const ModelConfig& config, int64_t layer) {
  const int64_t first_shared = config.layers - config.kv_shared_layers;
  const auto kind = [&](int64_t i) { return config.layer_kinds[static_cast<size_t>(i)]; };
  if (layer < first_shared) return layer;
  int64_t source = first_shared - 1;
  while (kind(source) != kind(layer)) --source;
  return source;
}

ValueId attention(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs, ValueId x,
                  const Layer& layer) {
  const std::string prefix = layer.prefix + "self_attn.";
  const double epsilon = config.rms_norm_epsilon;
  KvCacheSpec spec;
  spec.name = fmt::format("model.layers.{}.self_attn.kv_cache", layer.kv_layer);
  spec.kv_heads = layer.kv_heads;
  spec.key_dim = spec.value_dim = layer.head_dim;
  spec.window = layer.sliding ? config.sliding_window : 0;
  const int32_t cache = g.program().kv_cache(spec);

  ValueId q = g.split_heads(g.linear(x, prefix + "q_proj.weight", config.heads * layer.head_dim),
                            config.heads);
  q = g.rotary(g.rms_norm(q, prefix + "q_norm.weight", epsilon), layer.rotary_table);
  if (layer.kv_layer == layer.index) {
    const int64_t width = layer.kv_heads * layer.head_dim;
    ValueId k = g.split_heads(g.linear(x, prefix + "k_proj.weight", width), layer.kv_heads);
    const bool keys_are_values = config.keys_are_values && !layer.sliding;
    ValueId v = keys_are_values
                    ? k
                    : g.split_heads(g.linear(x, prefix + "v_proj.weight", width), layer.kv_heads);
    k = g.rotary(g.rms_norm(k, prefix + "k_norm.weight", epsilon), layer.rotary_table);
    const std::vector<float> ones(static_cast<size_t>(layer.head_dim), 1.0f);
    v = g.rms_norm(v, fmt::format("ones_{}", layer.head_dim), ones, epsilon);
    g.cache_update(k, v, inputs.input_pos, cache);
  }
  const auto scale = static_cast<float>(
      stretched_attention_scale(config, layer.sliding ? config.rotary_local : config.rotary));
  const ValueId attended = g.join_heads(g.attention(q, inputs.input_pos, cache, scale));
  return g.linear(attended, prefix + "o_proj.weight", config.hidden_size);
}

// The routed experts, whose router and norm see the hidden states before the MLP's own norm.
ValueId experts(MethodBuilder& g, const ModelConfig& config, ValueId x, const Layer& layer) {
  const double epsilon = config.rms_norm_epsilon;
  std::vector<float> router_norm =
      g.program().values(layer.prefix + "router.scale", {config.hidden_size});
  const auto root = static_cast<float>(1.0 / std::sqrt(static_cast<double>(config.hidden_size)));
  for (float& weight : router_norm) weight *= root;
  const ValueId scores =
      g.linear(g.rms_norm(x, layer.prefix + "router.norm", router_norm, epsilon),
               layer.prefix + "router.proj.weight", config.experts, WeightRole::kGate);
  const auto routing =
      g.router(scores, config.experts_per_token, layer.prefix + "router.per_expert_scale");
  return expert_mlp(g, config,
                    g.rms_norm(x, layer.prefix + "pre_feedforward_layernorm_2.weight", epsilon),
                    routing, layer.prefix + "experts.", Activation::kGeluTanh);
}

ValueId mlp(MethodBuilder& g, const ModelConfig& config, ValueId x, const Layer& layer) {
  const double epsilon = config.rms_norm_epsilon;
  const bool wide = config.double_wide_mlp && layer.kv_layer != layer.index;
  ValueId h = g.rms_norm(x, layer.prefix + "pre_feedforward_layernorm.weight", epsilon);
  h = gated_mlp(g, config, h, layer.prefix + "mlp.", config.intermediate_size * (wide ? 2 : 1),
                Activation::kGeluTanh);
  if (config.experts == 0) return h;
  h = g.rms_norm(h, layer.prefix + "post_feedforward_layernorm_1.weight", epsilon);
  const ValueId routed = g.rms_norm(experts(g, config, x, layer),
                                    layer.prefix + "post_feedforward_layernorm_2.weight", epsilon);
  return g.add(h, routed);
}

// What the layers get beside the hidden states, f32 [B, T, layers * per_layer_input_size]: an
// embedding of the token and a projection of `x`, the usual embedding.
ValueId per_layer_inputs(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs,
                         ValueId x) {
  const int64_t size = config.per_layer_input_size;
  const int64_t width = config.layers * size;
  const ValueId of_token =
      g.embedding(inputs.tokens, "model.embed_tokens_per_layer.weight", config.per_layer_vocab_size,
                  width, static_cast<float>(std::sqrt(static_cast<double>(size))));
  ValueId h = g.linear(x, "model.per_layer_model_projection.weight", width);
  h = g.scale(h, 1.0 / std::sqrt(static_cast<double>(config.hidden_size)));
  h = g.rms_norm(g.split_heads(h, config.layers), "model.per_layer_projection_norm.weight",
                 config.rms_norm_epsilon);
  return g.scale(g.add(g.join_heads(h), of_token), std::sqrt(0.5));
}

}  // namespace

ValueId build_gemma4(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs) {
  const double epsilon = config.rms_norm_epsilon;
  const ValueId rotary_full =
      g.rotary_table(inputs.input_pos, "rotary_frequencies",
                     rotary_frequencies(config.rotary, config.full_head_dim));
  const ValueId rotary_sliding =
      g.rotary_table(inputs.input_pos, "rotary_frequencies_sliding",
                     rotary_frequencies(config.rotary_local, config.head_dim));
  ValueId x =
      g.embedding(inputs.tokens, "model.embed_tokens.weight", config.vocab_size, config.hidden_size,
                  static_cast<float>(std::sqrt(static_cast<double>(config.hidden_size))));
  const int64_t input_size = config.per_layer_input_size;
  const ValueId layer_inputs = input_size > 0 ? per_layer_inputs(g, config, inputs, x) : -1;
  for (int64_t i = 0; i < config.layers; ++i) {
    const bool sliding = config.layer_kinds[static_cast<size_t>(i)] == LayerKind::kSlidingAttention;
    const Layer layer{i,
                      fmt::format("model.layers.{}.", i),
                      sliding,
                      sliding ? rotary_sliding : rotary_full,
                      sliding ? config.head_dim : config.full_head_dim,
                      sliding ? config.kv_heads : config.full_kv_heads,
                      kv_layer(config, i)};
    ValueId h = g.rms_norm(x, layer.prefix + "input_layernorm.weight", epsilon);
    h = attention(g, config, inputs, h, layer);
    x = g.add(x, g.rms_norm(h, layer.prefix + "post_attention_layernorm.weight", epsilon));

    h = mlp(g, config, x, layer);
    x = g.add(x, g.rms_norm(h, layer.prefix + "post_feedforward_layernorm.weight", epsilon));

    if (input_size > 0) {
      const ValueId gate = g.linear(x, layer.prefix + "per_layer_input_gate.weight", input_size);
      const ValueId input = g.slice(layer_inputs, i * input_size, (i + 1) * input_size);
      h = g.gated_activation(gate, input, Activation::kGeluTanh);
      h = g.linear(h, layer.prefix + "per_layer_projection.weight", config.hidden_size);
      x = g.add(x, g.rms_norm(h, layer.prefix + "post_per_layer_input_norm.weight", epsilon));
    }
    x = g.scale(x, g.program().values(layer.prefix + "layer_scalar", {1}).front());
  }
  return g.rms_norm(x, "model.norm.weight", epsilon);
}

}  // namespace gumbel
