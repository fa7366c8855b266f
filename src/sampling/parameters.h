// The runtime inputs of a draw, and what their values mean.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "sampling/fixed_point.h"
#include "sampling/noise.h"
#include "sampling/rank.h"

namespace gumbel {

/// How to draw one token from one row of logits. Every value has a meaning except a NaN, which
/// makes the draw invalid. Values that come as doubles are rounded to float first.
struct SamplingParameters {
  /// Divides the logits. Below 2^-64 (zero and negative ones too): greedy, the best token.
  float temperature = 1;
  /// Keeps exactly the `top_k` best tokens. Off: <= 0, or >= the vocabulary. 1 is greedy.
  int64_t top_k = 0;
  /// Keeps the smallest set of best tokens that holds this share of the mass. Off: >= 1.
  /// <= 0 is greedy.
  float top_p = 1;
  /// Keeps tokens at least this likely, relative to the best one. Off: <= 0. >= 1 is greedy.
  float min_p = 0;
  /// An int64 is read as the uint64 of the same bits.
  uint64_t seed = 0;
  /// Index, in the sequence, of the token being drawn.
  uint32_t position = 0;
  /// The row of a batch that shares one seed; 0 where a row has a seed of its own.
  uint32_t stream = 0;
};

/// False where the temperature, top_p or min_p is NaN.
constexpr bool is_valid(const SamplingParameters& p) {
  return !is_nan(p.temperature) && !is_nan(p.top_p) && !is_nan(p.min_p);
}

/// Whether valid parameters ask for the best token and no randomness.
constexpr bool is_greedy(const SamplingParameters& p) {
  return p.temperature < 0x1p-64f || p.top_k == 1 || p.top_p <= 0 || p.min_p >= 1;
}

/// Whether min_p is on. Compared as bits, so that a denormal counts where processors flush them.
constexpr bool has_min_p(const SamplingParameters& p) {
  return std::bit_cast<int32_t>(p.min_p) > 0;
}

/// The mass that top_p < 1 asks for: floor(total * p) with p cut to 32 fraction bits.
///
/// Fits: total < 2^63 (mass_q40) and p < 2^32, so (total >> 32) * p < 2^63, and so is
/// the low product's share.
constexpr uint64_t top_p_limit(uint64_t total, float top_p) {
  const uint64_t p = static_cast<uint64_t>(static_cast<double>(top_p) * 0x1p32);
  return (total >> 32) * p + (((total & 0xFFFFFFFF) * p) >> 32);
}

/// The largest surprisal that min_p in (0, 1) keeps: -log2(min_p), with p cut to 32 fraction bits
/// (at least one unit), and two units of slack for the error of the logarithm.
constexpr int32_t min_p_surprisal(float min_p) {
  const uint64_t p =
      std::max<uint64_t>(static_cast<uint64_t>(static_cast<double>(min_p) * 0x1p32), 1);
  return 32 * kOneQ24 - log2_q24(p) + 2;
}

constexpr NoiseKey noise_key(const SamplingParameters& p) { return {p.seed, p.position, p.stream}; }

}  // namespace gumbel
