// What the vectorized sampler shares between instruction sets: prefixes of a ranking, and bounds
// that rule tokens out before their noise is known.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "sampling/noise.h"
#include "sampling/rank.h"

namespace gumbel::cpu {

/// Tokens that are scanned, and skipped, together: 16 blocks of top bytes.
inline constexpr size_t kChunk = 256;

/// A prefix of the ranking (by key, ties by lower id): every token with a larger key than `key`,
/// and the first `ties` of those with that key, the last of which has id `last_tie`. All filters
/// together are one such prefix.
struct Prefix {
  int32_t key = kBannedKey;
  int64_t ties = 0;
  int64_t last_tie = -1;

  constexpr bool keeps(int32_t token_key, int64_t token) const {
    return token_key > key || (token_key == key && token <= last_tie);
  }
  /// Whether a set of tokens whose best has `best_key` may hold a kept one.
  constexpr bool reaches(int32_t best_key) const {
    return best_key > key || (best_key == key && ties > 0);
  }
};

/// The shorter of two prefixes of one ranking.
constexpr Prefix shorter(const Prefix& a, const Prefix& b) {
  if (a.key != b.key) return a.key > b.key ? a : b;
  return a.ties < b.ties ? a : b;
}

/// The order of floats as one signed comparison of their bits: key > `key` where
/// (bits ^ flip) > below. Non-negative floats order as their bits do and lie above all negative
/// ones; with all bits but the sign flipped, the negative ones order too and the others still lie
/// above. Flipped, -0 is -1 and a negative float with key -m is -m - 1, so "> key" for key < 0
/// (that is, key + 1 or more, and every zero for key = -1) reads "> key - 1". Nothing is above the
/// largest key, +infinity included, which has that key.
struct KeyAbove {
  int32_t flip;
  int32_t below;
  constexpr explicit KeyAbove(int32_t key)
      : flip(key < 0 ? 0x7FFFFFFF : 0),
        below(key >= kLargestKey ? 0x7F800000
              : key < 0          ? key - 1
                                 : key) {}
};

/// A sum of approximate masses A and the exact sum E of n tokens (mass_q40 without its 2^40) differ
/// by |A - E| <= kMassError * A + n * 2^-40. Per token, relative to its mass:
///   7.5e-5  the cubic (sample_mass-inl.h), 3.0e-7 its rounding,
///   0.5e-7  the fraction of the surprisal, which the exact mass cuts off,
///   1.2e-7  the exact mass's own polynomial (its cut at 2^-40 is the other term);
/// and summing up to 256 in float adds 256 * 2^-24 = 1.53e-5. Chunks are summed in double.
/// A row that holds +infinity has no finite sum here: A is NaN, and no comparison with it is true.
inline constexpr double kMassError = 1.2e-4;

/// An upper bound of the noise of a token whose word has top byte b: noise is non-increasing in the
/// word up to one unit (gumbel_from_words), so the least word with that byte, plus one unit.
inline constexpr std::array<int32_t, 256> kNoiseBoundOfByte = [] {
  std::array<int32_t, 256> bound{};
  for (uint32_t b = 0; b < 256; ++b) bound[b] = gumbel_from_words(b << 24, 0) + 1;
  return bound;
}();

/// The largest byte whose noise may reach `needed`; byte 0's may.
constexpr uint8_t largest_byte_reaching(int64_t needed) {
  if (kNoiseBoundOfByte[1] < needed) return 0;
  size_t reaching = 1;  // bounds fall with the byte
  for (size_t step = 128; step > 0; step /= 2)
    if (reaching + step < 256 && kNoiseBoundOfByte[reaching + step] >= needed) reaching += step;
  return static_cast<uint8_t>(reaching);
}

/// An upper bound of the noise of word r, whatever its tail: at most 0.09 above it for small r.
///
/// w > v / 2^65 with v = r * 2^33 + 1, and -log2(1 - w) >= w log2(e), so the noise
/// -log2(-log2(1 - w)) is at most 65 - log2(v) - log2(log2(e)). A chord lies below the concave
/// logarithm: for v = 2^n (1 + f), log2(v) >= n + f. The noise as computed is within 3 units of its
/// formula (tests/sampling), f is cut by less than one, and the constant is rounded: 8 cover it.
constexpr int32_t noise_bound(uint32_t r) {
  const uint64_t v = (uint64_t{r} << 33) | 1;
  const int n = std::bit_width(v) - 1;
  const uint64_t f_q64 = n == 0 ? 0 : v << (64 - n);
  const int32_t chord = n * kOneQ24 + static_cast<int32_t>(f_q64 >> 40);
  return 65 * kOneQ24 - chord - kLog2Log2eQ24 + 8;
}

}  // namespace gumbel::cpu
