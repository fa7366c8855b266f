// Order and surprisal of logits.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>

#include "sampling/fixed_point.h"

namespace gumbel {

/// Keys of the extremes. +infinity counts as the largest finite float; -infinity bans its token.
inline constexpr int32_t kLargestKey = 0x7F7FFFFF;
inline constexpr int32_t kSmallestKey = -0x7F7FFFFF;
inline constexpr int32_t kBannedKey = -0x7F800000;

/// An integer that orders logits as their values do, with -0 equal to +0: a float is a sign and a
/// magnitude, and this is the magnitude as a two's complement number. Comparing keys instead of
/// floats keeps order and ties right even where the processor is set to treat denormals as zero.
/// `logit` is not NaN.
constexpr int32_t rank_key(float logit) {
  const uint32_t bits = std::bit_cast<uint32_t>(logit);
  const int32_t magnitude = static_cast<int32_t>(bits & 0x7FFFFFFF);
  return std::min(bits >> 31 ? -magnitude : magnitude, kLargestKey);
}

/// The float that a key stands for (of the two zeros, the positive one).
constexpr float logit_of_key(int32_t key) {
  return std::bit_cast<float>(key >= 0 ? static_cast<uint32_t>(key)
                                       : static_cast<uint32_t>(-key) | 0x80000000u);
}

constexpr bool is_nan(float value) {
  return (std::bit_cast<uint32_t>(value) & 0x7FFFFFFF) > 0x7F800000;
}

/// What a difference of logits is multiplied by to become a surprisal with 24 fraction bits:
/// log2(e) * 2^24 (24204406 is a float32) over the temperature, rounded once. `temperature` is at
/// least 2^-64, so the scale is at most 2^89; above the largest float it counts as that.
constexpr float surprisal_scale(float temperature) {
  return 24204406.0f / std::min(temperature, std::numeric_limits<float>::max());
}

/// log2(p_best / p) with 24 fraction bits, of a token whose logit has `key`, in [0, kSurprisalCap].
/// The subtraction and the product are each rounded to nearest; the rest is cut off.
///
/// Processors that flush denormals agree: a difference worth one unit is at least 2^-89, and beside
/// it a denormal logit (below 2^-126) is less than a quarter of the last place.
constexpr int32_t surprisal_q24(int32_t best_key, int32_t key, float scale) {
  const float difference = logit_of_key(best_key) - logit_of_key(key);
  const float scaled = difference * scale;
  return scaled >= static_cast<float>(kSurprisalCap) ? kSurprisalCap : static_cast<int32_t>(scaled);
}

}  // namespace gumbel
