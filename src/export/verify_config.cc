#include "export/verify_config.h"

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
  check_number(where, "rotary theta", rotary.theta, 1.0, 1e15);
  if (rotary.scaling != RotaryConfig::Scaling::kNone)
    check_number(where, "rotary scaling factor", rotary.factor, 1e-6, 1e6);
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

}  // namespace

void verify_config(const ModelConfig& config, std::string_view where) {
  check_integer(where, "vocabulary size", config.vocab_size, 1, int64_t{1} << 24);
  check_integer(where, "hidden size", config.hidden_size, 1, int64_t{1} << 20);
  check_integer(where, "intermediate size", config.intermediate_size, 1, int64_t{1} << 24);
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
  check_rotary(where, config.rotary, config.head_dim);
  check_rotary(where, config.rotary_local, config.head_dim);
  check_integer(where, "sliding window", config.sliding_window, 0, int64_t{1} << 31);
  if (static_cast<int64_t>(config.is_sliding.size()) != config.layers)
    fail(ErrorCode::kCorruptFile, "{}: expected attention kinds of {} layers, got {}", where,
         config.layers, config.is_sliding.size());
  for (const bool sliding : config.is_sliding)
    if (sliding) check_integer(where, "sliding window", config.sliding_window, 1, int64_t{1} << 31);
}

}  // namespace gumbel
