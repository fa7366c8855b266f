// Qwen3.5 (Qwen Team 2026), dense and with experts: three layers of gated delta net (Yang, Kautz
// and Hatamizadeh 2025) to one of gated attention, the architecture of Qwen3-Next.
#include <fmt/format.h>

#include <cmath>
#include <utility>
#include <vector>

#include "base/error.h"
#include "export/models/layers.h"

namespace gumbel {
namespace {

// The norm of query or key heads. YaRN's factor multiplies the elements that are rotated, the first
// of a head, after the norm: it is part of their weights.
ValueId head_norm(MethodBuilder& g, const ModelConfig& config, ValueId x, const std::string& name) {
  const RotaryConfig& rotary = config.rotary;
  if (rotary.attention_factor == 1.0) return g.rms_norm(x, name, config.rms_norm_epsilon);
  std::vector<float> weights = g.program().values(name, {config.head_dim});
  const auto rotated =
      static_cast<int64_t>(rotary.partial_factor * static_cast<double>(config.head_dim));
  for (int64_t i = 0; i < rotated; ++i)
    weights[static_cast<size_t>(i)] *= static_cast<float>(rotary.attention_factor);
  return g.rms_norm(x, name, std::move(weights), config.rms_norm_epsilon);
}

// Attention whose output passes a gate, half of what the query projection computes.
ValueId attention(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs, ValueId x,
                  ValueId rotary_table, const std::string& prefix) {
  const int64_t dim = config.head_dim;
  const int64_t key_width = config.kv_heads * dim;
  const ValueId q_and_gate =
      g.split_heads(g.linear(x, prefix + "q_proj.weight", 2 * config.heads * dim), config.heads);
  ValueId q = g.slice(q_and_gate, 0, dim);
  const ValueId gate = g.slice(q_and_gate, dim, 2 * dim);
  ValueId k = g.split_heads(g.linear(x, prefix + "k_proj.weight", key_width), config.kv_heads);
  const ValueId v =
      g.split_heads(g.linear(x, prefix + "v_proj.weight", key_width), config.kv_heads);
  q = g.rotary(head_norm(g, config, q, prefix + "q_norm.weight"), rotary_table);
  k = g.rotary(head_norm(g, config, k, prefix + "k_norm.weight"), rotary_table);

  KvCacheSpec spec;
  spec.name = prefix + "kv_cache";
  spec.kv_heads = config.kv_heads;
  spec.key_dim = spec.value_dim = dim;
  const int32_t cache = g.program().kv_cache(spec);
  g.cache_update(k, v, inputs.input_pos, cache);
  const auto scale = static_cast<float>(config.attention_scale);
  ValueId h = g.attention(q, inputs.input_pos, cache, scale);
  h = g.gated_activation(gate, h, Activation::kSigmoid);
  return g.linear(g.join_heads(h), prefix + "o_proj.weight", config.hidden_size);
}

// Channels' taps [channels, 1, width] of a depthwise convolution, as [width, channels].
std::vector<float> conv_taps(MethodBuilder& g, const std::string& name, int64_t channels,
                             int64_t width) {
  const std::vector<float> by_channel = g.program().values(name, {channels, 1, width});
  std::vector<float> taps(by_channel.size());
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t w = 0; w < width; ++w)
      taps[static_cast<size_t>(w * channels + c)] = by_channel[static_cast<size_t>(c * width + w)];
  return taps;
}

// A = -exp(A_log) of every head, which checkpoints have as one or the other.
std::vector<float> decay_rates(MethodBuilder& g, const std::string& prefix, int64_t heads) {
  if (!g.program().has(prefix + "A_log") && g.program().has(prefix + "A"))
    return g.program().values(prefix + "A", {heads});
  std::vector<float> rates = g.program().values(prefix + "A_log", {heads});
  for (float& rate : rates) {
    const float logarithm = rate;
    rate = static_cast<float>(-std::exp(static_cast<double>(logarithm)));
    if (!std::isfinite(rate))
      fail(ErrorCode::kInvalidArgument,
           "{}A_log: expected logarithms of float32 numbers, below 88.73, got {}", prefix,
           logarithm);
  }
  return rates;
}

ValueId delta_net(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs, ValueId x,
                  const std::string& prefix) {
  const int64_t key_dim = config.linear_key_dim;
  const int64_t heads = config.linear_value_heads;
  const int64_t key_width = config.linear_key_heads * key_dim;
  const int64_t value_width = heads * config.linear_value_dim;
  const int64_t channels = 2 * key_width + value_width;
  ValueId mixed = g.linear(x, prefix + "in_proj_qkv.weight", channels);
  const ValueId z = g.split_heads(g.linear(x, prefix + "in_proj_z.weight", value_width), heads);
  const ValueId strength = g.linear(x, prefix + "in_proj_b.weight", heads, WeightRole::kGate);
  const ValueId decay = g.linear(x, prefix + "in_proj_a.weight", heads, WeightRole::kGate);
  mixed = g.causal_conv(mixed, inputs.input_pos, prefix + "conv1d",
                        conv_taps(g, prefix + "conv1d.weight", channels, config.linear_conv_width));

  // Queries and keys of length 1: x / sqrt(sum(x^2) + 1e-6), which is the RMS norm with n^-1/2 for
  // its weights and 1e-6 / n for its epsilon. Queries are also scaled by n^-1/2.
  const auto n = static_cast<double>(key_dim);
  const auto unit = [&](int64_t begin, const char* name, double weight) {
    const ValueId part =
        g.split_heads(g.slice(mixed, begin, begin + key_width), config.linear_key_heads);
    return g.rms_norm(part, fmt::format("{}_{}", name, key_dim),
                      std::vector<float>(static_cast<size_t>(key_dim), static_cast<float>(weight)),
                      1e-6 / n);
  };
  MethodBuilder::DeltaRule rule;
  rule.name = prefix + "delta_rule";
  rule.q = unit(0, "query_unit", 1.0 / n);
  rule.k = unit(key_width, "key_unit", 1.0 / std::sqrt(n));
  rule.v = g.split_heads(g.slice(mixed, 2 * key_width, channels), heads);
  rule.decay = decay;
  rule.strength = strength;
  rule.rate = decay_rates(g, prefix, heads);
  rule.bias = g.program().values(prefix + "dt_bias", {heads});
  rule.head_order = config.linear_head_order;

  ValueId h = g.gated_delta_rule(rule, inputs.input_pos);
  h = g.rms_norm(h, prefix + "norm.weight", config.rms_norm_epsilon);
  h = g.gated_activation(z, h, Activation::kSilu);
  return g.linear(g.join_heads(h), prefix + "out_proj.weight", config.hidden_size);
}

// Routed experts and one that every token uses, through a gate.
ValueId experts(MethodBuilder& g, const ModelConfig& config, ValueId x, const std::string& prefix) {
  const ValueId scores = g.linear(x, prefix + "gate.weight", config.experts, WeightRole::kGate);
  const auto routing = g.router(scores, config.experts_per_token);
  const ValueId routed = expert_mlp(g, config, x, routing, prefix + "experts.", Activation::kSilu);
  if (config.shared_expert_intermediate_size == 0) return routed;
  const ValueId shared = gated_mlp(g, config, x, prefix + "shared_expert.",
                                   config.shared_expert_intermediate_size, Activation::kSilu);
  const ValueId gate = g.linear(x, prefix + "shared_expert_gate.weight", 1, WeightRole::kGate);
  return g.add(routed, g.gated_activation(gate, shared, Activation::kSigmoid));
}

}  // namespace

ValueId build_qwen3_5(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs) {
  const double epsilon = config.rms_norm_epsilon;
  const ValueId rotary = g.rotary_table(inputs.input_pos, "rotary_frequencies",
                                        rotary_frequencies(config.rotary, config.head_dim));
  ValueId x = g.embedding(inputs.tokens, "model.embed_tokens.weight", config.vocab_size,
                          config.hidden_size, 1.0f);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    ValueId h = g.rms_norm(x, prefix + "input_layernorm.weight", epsilon);
    h = config.layer_kinds[static_cast<size_t>(layer)] == LayerKind::kLinearAttention
            ? delta_net(g, config, inputs, h, prefix + "linear_attn.")
            : attention(g, config, inputs, h, rotary, prefix + "self_attn.");
    x = g.add(x, h);
    h = g.rms_norm(x, prefix + "post_attention_layernorm.weight", epsilon);
    h = config.experts > 0
            ? experts(g, config, h, prefix + "mlp.")
            : gated_mlp(g, config, h, prefix + "mlp.", config.intermediate_size, Activation::kSilu);
    x = g.add(x, h);
  }
  return g.rms_norm(x, "model.norm.weight", epsilon);
}

}  // namespace gumbel
