#include "export/models/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gumbel {
namespace {

// Llama 3.1: wavelengths beyond original_max_positions / low_frequency_factor are stretched by
// `factor`, those below original_max_positions / high_frequency_factor are kept, and between the
// two the frequencies are blended.
double llama3_frequency(const RotaryConfig& rotary, double frequency) {
  const double wavelength = 2.0 * std::numbers::pi / frequency;
  const auto context = static_cast<double>(rotary.original_max_positions);
  const double low = rotary.low_frequency_factor;
  const double high = rotary.high_frequency_factor;
  if (wavelength > context / low) return frequency / rotary.factor;
  if (wavelength < context / high) return frequency;
  const double blend = (context / wavelength - low) / (high - low);
  return (1.0 - blend) * frequency / rotary.factor + blend * frequency;
}

// YaRN: the share, 0 to 1, of the stretched frequency in that of pair `i` of `dim` / 2.
double yarn_blend(const RotaryConfig& rotary, int64_t dim, int64_t i) {
  // The pair, a real number, that turns `turns` times over the original context.
  const auto pair_of = [&](double turns) {
    const double length = static_cast<double>(rotary.original_max_positions) / turns;
    return static_cast<double>(dim) * std::log(length / (2.0 * std::numbers::pi)) /
           (2.0 * std::log(rotary.theta));
  };
  double low = pair_of(rotary.beta_fast);
  double high = pair_of(rotary.beta_slow);
  if (rotary.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(dim - 1));
  if (low == high) high += 0.001;
  return std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
}

}  // namespace

std::vector<float> rotary_frequencies(const RotaryConfig& rotary, int64_t head_dim) {
  const auto rotated = static_cast<int64_t>(rotary.partial_factor * static_cast<double>(head_dim));
  const int64_t dim = rotary.proportional ? head_dim : rotated;
  std::vector<float> frequencies;
  for (int64_t i = 0; i < dim / 2; ++i) {
    const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(dim);
    double frequency = std::pow(rotary.theta, exponent);
    if (rotary.scaling == RotaryConfig::Scaling::kLinear) frequency /= rotary.factor;
    if (rotary.scaling == RotaryConfig::Scaling::kLlama3)
      frequency = llama3_frequency(rotary, frequency);
    if (rotary.scaling == RotaryConfig::Scaling::kYarn) {
      const double blend = yarn_blend(rotary, dim, i);
      frequency = (1.0 - blend) * frequency + blend * frequency / rotary.factor;
    }
    if (!rotary.divisors.empty())
      frequency /= static_cast<double>(rotary.divisors[static_cast<size_t>(i)]);
    if (i >= rotated / 2) frequency = 0;
    frequencies.push_back(static_cast<float>(frequency));
  }
  return frequencies;
}

double stretched_attention_scale(const ModelConfig& config, const RotaryConfig& rotary) {
  return config.attention_scale * rotary.attention_factor * rotary.attention_factor;
}

ValueId self_attention(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs, ValueId x,
                       const SelfAttention& block) {
  const std::string& prefix = block.prefix;
  const int64_t query_width = config.heads * config.head_dim;
  const int64_t key_width = config.kv_heads * config.head_dim;
  ValueId q = g.split_heads(g.linear(x, prefix + "q_proj.weight", query_width), config.heads);
  ValueId k = g.split_heads(g.linear(x, prefix + "k_proj.weight", key_width), config.kv_heads);
  const ValueId v =
      g.split_heads(g.linear(x, prefix + "v_proj.weight", key_width), config.kv_heads);
  if (block.norm_heads) {
    q = g.rms_norm(q, prefix + "q_norm.weight", config.rms_norm_epsilon);
    k = g.rms_norm(k, prefix + "k_norm.weight", config.rms_norm_epsilon);
  }
  q = g.rotary(q, block.rotary_table);
  k = g.rotary(k, block.rotary_table);

  KvCacheSpec spec;
  spec.name = prefix + "kv_cache";
  spec.kv_heads = config.kv_heads;
  spec.key_dim = spec.value_dim = config.head_dim;
  spec.window = block.window;
  const int32_t cache = g.program().kv_cache(spec);
  g.cache_update(k, v, inputs.input_pos, cache);
  const auto scale = static_cast<float>(block.attention_scale);
  const ValueId attended = g.join_heads(g.attention(q, inputs.input_pos, cache, scale));
  return g.linear(attended, prefix + "o_proj.weight", config.hidden_size);
}

ValueId gated_mlp(MethodBuilder& g, const ModelConfig& config, ValueId x, const std::string& prefix,
                  int64_t intermediate_size, Activation activation) {
  const ValueId gate = g.linear(x, prefix + "gate_proj.weight", intermediate_size);
  const ValueId up = g.linear(x, prefix + "up_proj.weight", intermediate_size);
  const ValueId gated = g.gated_activation(gate, up, activation);
  return g.linear(gated, prefix + "down_proj.weight", config.hidden_size);
}

ValueId expert_mlp(MethodBuilder& g, const ModelConfig& config, ValueId x,
                   const MethodBuilder::Routing& routing, const std::string& prefix,
                   Activation activation) {
  const int64_t experts = config.experts;
  const int64_t size = config.expert_intermediate_size;
  const ValueId gate = g.expert_linear(x, routing, prefix + "gate_proj", experts, size);
  const ValueId up = g.expert_linear(x, routing, prefix + "up_proj", experts, size);
  const ValueId gated = g.gated_activation(gate, up, activation);
  return g.expert_sum(
      g.expert_linear(gated, routing, prefix + "down_proj", experts, config.hidden_size), routing);
}

ValueId pre_norm_decoder(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs,
                         bool norm_heads) {
  const double epsilon = config.rms_norm_epsilon;
  const ValueId rotary = g.rotary_table(inputs.input_pos, "rotary_frequencies",
                                        rotary_frequencies(config.rotary, config.head_dim));
  ValueId x = g.embedding(inputs.tokens, "model.embed_tokens.weight", config.vocab_size,
                          config.hidden_size, 1.0f);
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    const std::string prefix = fmt::format("model.layers.{}.", layer);
    SelfAttention block;
    block.prefix = prefix + "self_attn.";
    block.rotary_table = rotary;
    block.attention_scale = stretched_attention_scale(config, config.rotary);
    block.norm_heads = norm_heads;

    ValueId h = g.rms_norm(x, prefix + "input_layernorm.weight", epsilon);
    x = g.add(x, self_attention(g, config, inputs, h, block));
    h = g.rms_norm(x, prefix + "post_attention_layernorm.weight", epsilon);
    x = g.add(
        x, gated_mlp(g, config, h, prefix + "mlp.", config.intermediate_size, Activation::kSilu));
  }
  return g.rms_norm(x, "model.norm.weight", epsilon);
}

}  // namespace gumbel
