// Gumbel noise as integers: which random words belong to a token, and the noise they stand for.
#pragma once

#include <cstdint>

#include "sampling/fixed_point.h"
#include "sampling/philox.h"

namespace gumbel {

/// The last counter word of each use of the generator ("GMBL" and its successors), so that no two
/// uses ever share a block.
inline constexpr uint32_t kDomainTop = 0x474D424C;       ///< The top 8 bits, 16 tokens a block.
inline constexpr uint32_t kDomainLow = kDomainTop + 1;   ///< The low 24 bits.
inline constexpr uint32_t kDomainTail = kDomainTop + 2;  ///< 32 bits more for extreme noise.

/// log2(log2(e)) with 24 fraction bits.
inline constexpr int32_t kLog2Log2eQ24 = 8871228;

/// What the noise of a draw depends on besides the token.
struct NoiseKey {
  uint64_t seed;
  uint32_t position;
  uint32_t stream;
};

/// Word (token & 3) of the block at (token >> 2, position, stream, domain).
constexpr uint32_t random_word(uint32_t token, const NoiseKey& key, uint32_t domain) {
  return philox4x32({token >> 2, key.position, key.stream, domain}, key.seed)[token & 3];
}

/// The 32 random bits of a token. The top 8 are byte (token & 15), counted from the lowest byte of
/// the first word, of a block that serves 16 tokens: one cheap byte rules most tokens out. The low
/// 24 come from a block of their own domain.
constexpr uint32_t uniform_word(uint32_t token, const NoiseKey& key) {
  const auto block = philox4x32({token >> 4, key.position, key.stream, kDomainTop}, key.seed);
  const uint32_t top = (block[(token >> 2) & 3] >> (8 * (token & 3))) & 0xFF;
  return (top << 24) | (random_word(token, key, kDomainLow) >> 8);
}

/// The noise -log2(-log2(1 - w)) with 24 fraction bits, for w = (r + 1/2) / 2^32 in (0, 1).
///
/// Where r < 256 (w < 2^-24) a step of r is too coarse for a tail as long as the vocabulary needs,
/// so 32 bits more are taken: w = (r : r2) + 1/2 with 65 fraction bits, and -log2(1 - w) = w
/// log2(e) to within w / 2 < 2^-25 of itself. `r2` is ignored where r >= 256.
///
/// In [-5.1, 64.5]: the least is r = 2^32 - 1, 1 - w = 2^-33, -log2(33) = -5.04; the greatest is
/// r = r2 = 0, 65 - log2(log2(e)) = 64.47. No word gives an infinity.
///
/// Non-increasing in r (and in r2) up to one unit: the rounding of the logarithms can raise it by
/// one unit from a word to the next, never by more over the least value so far (tried for every r).
///
/// Fits: n <= 32 and w <= 2^32 with 33 fraction bits, the ratio is below 2^30, so
/// e < 2^62 + 2^58; and e >= 1, since w >= 1 and the ratio is above 2^28.
constexpr int32_t gumbel_from_words(uint32_t r, uint32_t r2) {
  if (r < 256) {
    const uint64_t fine = (uint64_t{r} << 33) | (uint64_t{r2} << 1) | 1;
    return 65 * kOneQ24 - log2_q24(fine) - kLog2Log2eQ24;
  }
  // 1 - w with 33 fraction bits, as 2^-n times a mantissa in [1/2, 1).
  const uint64_t u = (uint64_t{1} << 33) - (2 * uint64_t{r} + 1);
  const int n = 33 - std::bit_width(u);
  const int64_t w = (int64_t{1} << 33) - static_cast<int64_t>(u << n);
  // -log2(1 - w) with 57 fraction bits.
  const int64_t e = (int64_t{n} << 57) + ((w * minus_log2_ratio_q28(w >> 2)) >> 4);
  return 57 * kOneQ24 - log2_q24(static_cast<uint64_t>(e));
}

/// The noise of a token, given its 32 random bits.
constexpr int32_t gumbel_q24(uint32_t token, uint32_t word, const NoiseKey& key) {
  return gumbel_from_words(word, word < 256 ? random_word(token, key, kDomainTail) : 0);
}

/// The noise of a token, with 24 fraction bits.
constexpr int32_t gumbel_q24(uint32_t token, const NoiseKey& key) {
  return gumbel_q24(token, uniform_word(token, key), key);
}

}  // namespace gumbel
