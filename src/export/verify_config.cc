#include "export/verify_config.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace gumbel {
namespace {

void check_integer(std::string_view where, std::string_view name, int64_t value, int64_t low,
                   int64_t high) {
  if (value < low || value > high)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected {} to {}, got {}", where, name, low, high,
         value);
}

// Written so that a NaN fails.
void check_number(std::string_view where, std::string_view name, double value, double low,
                  double high) {
  if (!(value >= low && value <= high))
    fail(ErrorCode::kCorruptFile, "{}: {}: expected {} to {}, got {}", where, name, low, high,
         value);
}

void check_rotary(std::string_view where, const RotaryConfig& rotary, int64_t head_dim) {
  // At least one pair, and whole ones.
  const double rotated = rotary.partial_factor * static_cast<double>(head_dim);
  check_number(where, "partial rotary factor", rotary.partial_factor, 0.0, 1.0);
  check_number(where, "rotated elements of a head", rotated, 2.0, static_cast<double>(head_dim));
  if (static_cast<int64_t>(rotated) % 2 != 0)
    fail(ErrorCode::kCorruptFile, "{}: rotated elements of a head: expected an even number, got {}",
         where, static_cast<int64_t>(rotated));
  check_number(where, "rotary theta", rotary.theta, 1.0, 1e15);
  if (rotary.scaling != RotaryConfig::Scaling::kNone)
    check_number(where, "rotary scaling factor", rotary.factor, 1e-6, 1e6);
  if (rotary.scaling == RotaryConfig::Scaling::kYarn) {
    // Whatever divides by a logarithm of theta needs one above 0.
    check_number(where, "rotary theta with YaRN", rotary.theta, 1.001, 1e15);
    check_number(where, "beta_fast", rotary.beta_fast, 1e-6, 1e6);
    check_number(where, "beta_slow", rotary.beta_slow, 1e-6, 1e6);
    check_number(where, "attention_factor", rotary.attention_factor, 1e-3, 1e3);
    check_integer(where, "original_max_position_embeddings", rotary.original_max_positions, 1,
                  int64_t{1} << 31);
  }
  if (rotary.scaling == RotaryConfig::Scaling::kLlama3) {
    check_number(where, "low_freq_factor", rotary.low_frequency_factor, 1e-6, 1e6);
    check_number(where, "high_freq_factor", rotary.high_frequency_factor, 1e-6, 1e6);
    if (!(rotary.high_frequency_factor > rotary.low_frequency_factor))
      fail(ErrorCode::kCorruptFile,
           "{}: expected high_freq_factor above low_freq_factor {}, got {}", where,
           rotary.low_frequency_factor, rotary.high_frequency_factor);
    check_integer(where, "original_max_position_embeddings", rotary.original_max_positions, 1,
                  int64_t{1} << 31);
  }
  if (!rotary.divisors.empty() && static_cast<int64_t>(rotary.divisors.size()) != head_dim / 2)
    fail(ErrorCode::kCorruptFile, "{}: expected {} rotary divisors (half of a head), got {}", where,
         head_dim / 2, rotary.divisors.size());
  for (const float divisor : rotary.divisors)
    check_number(where, "rotary divisor", divisor, 1e-6, 1e6);
}

void check_linear_attention(std::string_view where, const ModelConfig& config) {
  check_integer(where, "linear attention's value heads", config.linear_value_heads, 1, 65'536);
  check_integer(where, "linear attention's key heads", config.linear_key_heads, 1,
                config.linear_value_heads);
  if (config.linear_value_heads % config.linear_key_heads != 0)
    fail(ErrorCode::kCorruptFile,
         "{}: linear attention: expected key heads that divide the {} value heads, got {}", where,
         config.linear_value_heads, config.linear_key_heads);
  check_integer(where, "linear attention's key head size", config.linear_key_dim, 1, 65'536);
  check_integer(where, "linear attention's value head size", config.linear_value_dim, 1, 65'536);
  check_integer(where, "linear attention's convolution", config.linear_conv_width, 2, 64);
}

void check_experts(std::string_view where, const ModelConfig& config) {
  check_integer(where, "experts", config.experts, 1, 65'536);
  check_integer(where, "experts per token", config.experts_per_token, 1, config.experts);
  check_integer(where, "expert intermediate size", config.expert_intermediate_size, 1,
                int64_t{1} << 24);
  check_integer(where, "shared expert intermediate size", config.shared_expert_intermediate_size, 0,
                int64_t{1} << 24);
}

void check_gemma4(std::string_view where, const ModelConfig& config) {
  check_integer(where, "full-attention head size", config.full_head_dim, 2, 65'536);
  check_integer(where, "full-attention key-value heads", config.full_kv_heads, 1, config.heads);
  if (config.full_head_dim % 2 != 0 || config.heads % config.full_kv_heads != 0)
    fail(ErrorCode::kCorruptFile,
         "{}: expected an even full-attention head size and key-value heads that divide the {} "
         "heads, got {} and {}",
         where, config.heads, config.full_head_dim, config.full_kv_heads);
  check_integer(where, "per-layer input size", config.per_layer_input_size, 0, 65'536);
  if (config.per_layer_input_size > 0)
    check_integer(where, "per-layer vocabulary size", config.per_layer_vocab_size, 1,
                  int64_t{1} << 24);
  check_integer(where, "layers with shared keys and values", config.kv_shared_layers, 0,
                config.layers - 1);
  // Each kind of a sharing layer needs a layer before them that has its own keys and values.
  const auto first_shared = config.layer_kinds.end() - config.kv_shared_layers;
  for (auto kind = first_shared; kind != config.layer_kinds.end(); ++kind)
    if (std::find(config.layer_kinds.begin(), first_shared, *kind) == first_shared)
      fail(ErrorCode::kCorruptFile,
           "{}: layer {} shares keys and values, but no layer of its kind before the {} sharing "
           "ones has any",
           where, kind - config.layer_kinds.begin(), config.kv_shared_layers);
}

}  // namespace

void verify_config(const ModelConfig& config, std::string_view where) {
  check_integer(where, "vocabulary size", config.vocab_size, 1, int64_t{1} << 24);
  check_integer(where, "hidden size", config.hidden_size, 1, int64_t{1} << 20);
  // A mixture of experts may have no dense MLP.
  check_integer(where, "intermediate size", config.intermediate_size, config.experts > 0 ? 0 : 1,
                int64_t{1} << 24);
  check_integer(where, "layers", config.layers, 1, 10'000);
  check_integer(where, "attention heads", config.heads, 1, 65'536);
  check_integer(where, "key-value heads", config.kv_heads, 1, config.heads);
  if (config.heads % config.kv_heads != 0)
    fail(ErrorCode::kCorruptFile, "{}: expected key-value heads that divide the {} heads, got {}",
         where, config.heads, config.kv_heads);
  check_integer(where, "head size", config.head_dim, 2, 65'536);
  if (config.head_dim % 2 != 0)
    fail(ErrorCode::kCorruptFile, "{}: head size: expected an even number, got {}", where,
         config.head_dim);
  check_integer(where, "context length", config.max_positions, 1, int64_t{1} << 31);
  check_number(where, "RMS norm epsilon", config.rms_norm_epsilon, 1e-12, 1.0);
  check_number(where, "attention scale", config.attention_scale, 1e-6, 1e6);
  const int64_t full_head_dim = config.full_head_dim != 0 ? config.full_head_dim : config.head_dim;
  check_rotary(where, config.rotary, full_head_dim);
  check_rotary(where, config.rotary_local, config.head_dim);
  for (const RotaryConfig& rotary : {config.rotary, config.rotary_local})
    if (rotary.attention_factor != 1.0 && rotary.partial_factor != 1.0 &&
        !config.architecture.starts_with("qwen3_5"))
      fail(ErrorCode::kUnsupported,
           "{}: partial_rotary_factor: expected 1 with YaRN in architecture {}, got {}", where,
           config.architecture, rotary.partial_factor);
  check_integer(where, "sliding window", config.sliding_window, 0, int64_t{1} << 31);
  if (static_cast<int64_t>(config.layer_kinds.size()) != config.layers)
    fail(ErrorCode::kCorruptFile, "{}: expected attention kinds of {} layers, got {}", where,
         config.layers, config.layer_kinds.size());
  const auto has = [&](LayerKind kind) {
    return std::find(config.layer_kinds.begin(), config.layer_kinds.end(), kind) !=
           config.layer_kinds.end();
  };
  if (has(LayerKind::kSlidingAttention))
    check_integer(where, "sliding window", config.sliding_window, 1, int64_t{1} << 31);
  check_number(where, "final logit softcap", config.final_logit_softcap, 0.0, 1e6);
  if (has(LayerKind::kLinearAttention)) check_linear_attention(where, config);
  if (config.experts != 0) check_experts(where, config);
  if (config.architecture == "gemma4") check_gemma4(where, config);
}

}  // namespace gumbel
