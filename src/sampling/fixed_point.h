// Logarithm and power of two in integer arithmetic. Nothing here depends on a compiler, a math
// library or a rounding mode, so every backend can repeat it bit for bit.
//
// `>>` of a negative value rounds down (C++20). "q24" means 24 fraction bits.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace gumbel {

/// 1.0 in the fixed point of surprisals, noise and scores, all in units of log2.
inline constexpr int32_t kOneQ24 = 1 << 24;

/// The largest surprisal: a token 2^-100 as likely as the best one, or less, counts as 2^-100.
inline constexpr int32_t kSurprisalCap = 100 * kOneQ24;

/// -log2(1 - w) / w on [0, 1/2]: coefficients of w^k, 28 fraction bits; minimax, error 2^-26.
inline constexpr std::array<int64_t, 10> kMinusLog2RatioQ28 = {
    387270500, 193635715,  129059894, 97575434,   67943036,
    131961057, -228523948, 759000059, -952283399, 671376768};

/// 2^-f on [0, 1): coefficients of (-f)^k, 31 fraction bits; minimax, error 2^-24.
inline constexpr std::array<uint64_t, 6> kExp2Q31 = {2147483527, 1488513547, 515780381,
                                                     118751808,  19776564,   2033403};

/// -log2(1 - w) / w with 28 fraction bits, for w in [0, 1/2] given with 31 fraction bits.
///
/// Fits: every coefficient is below 2^30 in magnitude and w <= 2^30, so (r * w) >> 31 is at most
/// |r| / 2; by induction |r| < 2^31 and |r * w| < 2^61. The result is in [1.44, 2.01] * 2^28.
constexpr int64_t minus_log2_ratio_q28(int64_t w_q31) {
  int64_t r = kMinusLog2RatioQ28.back();
  for (size_t k = kMinusLog2RatioQ28.size() - 1; k-- > 0;)
    r = kMinusLog2RatioQ28[k] + ((r * w_q31) >> 31);
  return r;
}

/// log2(v) with 24 fraction bits, for v >= 1. In [0, 64 * 2^24]; error below 2 units.
///
/// v = 2^n * m with m in [1/2, 1), so log2 v = n + log2(1 - w) with w = 1 - m in (0, 1/2].
/// Fits: w <= 2^31 with 32 fraction bits and the ratio is below 2^30, so the product is below 2^61.
constexpr int32_t log2_q24(uint64_t v) {
  const int n = std::bit_width(v);
  const int64_t mantissa = static_cast<int64_t>((v << (64 - n)) >> 32);
  const int64_t w = (int64_t{1} << 32) - mantissa;
  return static_cast<int32_t>(n * int64_t{kOneQ24} - ((w * minus_log2_ratio_q28(w >> 1)) >> 36));
}

/// 2^-z with 40 fraction bits: the unnormalized probability of a token with surprisal z >= 0.
/// At most 2147483527 * 2^9 < 2^40, so the masses of 2^23 tokens sum to less than 2^63; 0 for
/// z >= 40 * 2^24. Not quite monotone in z (by a unit or two), which is why filters cut by rank.
///
/// Fits: coefficients and r stay below 2^31 and f below 2^32, so r * f < 2^63.
constexpr uint64_t mass_q40(int32_t z) {
  const uint64_t f = static_cast<uint64_t>(z & (kOneQ24 - 1)) << 8;
  uint64_t r = kExp2Q31.back();
  for (size_t k = kExp2Q31.size() - 1; k-- > 0;) r = kExp2Q31[k] - ((r * f) >> 32);
  return (r << 9) >> std::min(z >> 24, 63);
}

}  // namespace gumbel
