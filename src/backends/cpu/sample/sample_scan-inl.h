// One pass over a row of logits: the best of every chunk, and whether a NaN is there.
#if defined(GUMBEL_SAMPLE_SCAN_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GUMBEL_SAMPLE_SCAN_INL_H
#undef GUMBEL_SAMPLE_SCAN_INL_H
#else
#define GUMBEL_SAMPLE_SCAN_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <limits>

#include "backends/cpu/sample/sample.h"
#include "backends/cpu/sample/sample_bounds.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors have the same count of lanes for every 32-bit type.
using FloatTag = hn::ScalableTag<float>;
using IntTag = hn::ScalableTag<int32_t>;
using WordTag = hn::ScalableTag<uint32_t>;

/// A row of logits in chunks of kChunk tokens.
struct Row {
  const float* logits;
  int64_t vocab;
  size_t chunks;
  size_t best_chunk;
  int32_t best_key;
  bool has_nan;
  SampleScratch* scratch;

  /// kChunk logits; the last chunk is a copy that ends in banned tokens, so no loop has a tail.
  const float* chunk(size_t c) const {
    return c + 1 < chunks ? logits + c * kChunk : scratch->last_chunk;
  }
};

/// Number of lanes in whole vectors that hold `count` of them.
HWY_INLINE size_t round_up_to_vector(size_t count) {
  const size_t lanes = hn::Lanes(IntTag());
  return (count + lanes - 1) / lanes * lanes;
}

/// Scans the row and fills scratch.best_keys. The row holds at least one logit.
///
/// Three running extremes of the raw bits say everything about a set of floats: read as signed
/// integers, the largest is the largest non-negative float if there is one (or a NaN); read as
/// unsigned, the least is the best of negative floats if there is no other, and the largest is
/// above 0xFF800000 only if a NaN with a sign is there.
inline HWY_NOINLINE Row scan(std::span<const float> logits, SampleScratch& scratch) {
  const IntTag d;
  const WordTag du;
  Row row{.logits = logits.data(),
          .vocab = static_cast<int64_t>(logits.size()),
          .chunks = (logits.size() + kChunk - 1) / kChunk,
          .best_chunk = 0,
          .best_key = kBannedKey,
          .has_nan = false,
          .scratch = &scratch};
  const size_t last_begin = (row.chunks - 1) * kChunk;
  const auto end = std::copy(logits.begin() + static_cast<ptrdiff_t>(last_begin), logits.end(),
                             scratch.last_chunk);
  std::fill(end, scratch.last_chunk + kChunk, -std::numeric_limits<float>::infinity());

  auto largest_unsigned = hn::Zero(du);
  for (size_t c = 0; c < row.chunks; ++c) {
    const auto* bits = reinterpret_cast<const int32_t*>(row.chunk(c));
    auto largest = hn::Set(d, static_cast<int32_t>(0x80000000u));
    auto least_unsigned = hn::Set(du, 0xFFFFFFFFu);
    HWY_UNROLL(8)
    for (size_t i = 0; i < kChunk; i += hn::Lanes(d)) {
      const auto v = hn::LoadU(d, bits + i);
      largest = hn::Max(largest, v);
      least_unsigned = hn::Min(least_unsigned, hn::BitCast(du, v));
      largest_unsigned = hn::Max(largest_unsigned, hn::BitCast(du, v));
    }
    const auto best_bits =
        hn::IfThenElse(hn::Lt(largest, hn::Zero(d)), hn::BitCast(d, least_unsigned), largest);
    // As keys, except that NaN and infinity are not yet clipped.
    const auto keys = hn::IfThenElse(
        hn::Lt(best_bits, hn::Zero(d)),
        hn::Sub(hn::Set(d, static_cast<int32_t>(0x80000000u)), best_bits), best_bits);
    const int32_t best = hn::GetLane(hn::MaxOfLanes(d, keys));
    if (best > 0x7F800000) row.has_nan = true;
    scratch.best_keys[c] = std::min(best, kLargestKey);
    if (scratch.best_keys[c] > row.best_key) {
      row.best_key = scratch.best_keys[c];
      row.best_chunk = c;
    }
  }
  if (hn::GetLane(hn::MaxOfLanes(du, largest_unsigned)) > 0xFF800000u) row.has_nan = true;
  std::fill(scratch.best_keys + row.chunks, scratch.best_keys + round_up_to_vector(row.chunks),
            kBannedKey);
  return row;
}

/// The lowest id of the best logit: the first one of the first chunk that reaches it.
HWY_INLINE int64_t best_token(const Row& row) {
  const float* chunk = row.chunk(row.best_chunk);
  size_t i = 0;
  while (rank_key(chunk[i]) != row.best_key) ++i;
  return static_cast<int64_t>(row.best_chunk * kChunk + i);
}

/// How many of a chunk's keys are above `key`.
HWY_INLINE int64_t count_above_in_chunk(const float* chunk, int32_t key) {
  const IntTag d;
  const KeyAbove above(key);
  const auto flip = hn::Set(d, above.flip);
  const auto below = hn::Set(d, above.below);
  const auto* bits = reinterpret_cast<const int32_t*>(chunk);
  auto minus_count = hn::Zero(d);
  HWY_UNROLL(4)
  for (size_t i = 0; i < kChunk; i += hn::Lanes(d)) {
    const auto flipped = hn::Xor(hn::LoadU(d, bits + i), flip);
    minus_count = hn::Add(minus_count, hn::VecFromMask(d, hn::Gt(flipped, below)));
  }
  return -int64_t{hn::GetLane(hn::SumOfLanes(d, minus_count))};
}

/// How many of a chunk's keys equal `key`.
HWY_INLINE int64_t count_equal_in_chunk(const float* chunk, int32_t key) {
  return count_above_in_chunk(chunk, key - 1) - count_above_in_chunk(chunk, key);
}

/// How many tokens with id below `end` have exactly this key.
inline HWY_NOINLINE int64_t count_equal(const Row& row, int32_t key, int64_t end) {
  int64_t count = 0;
  const size_t whole_chunks = static_cast<size_t>(end) / kChunk;
  for (size_t c = 0; c < whole_chunks; ++c)
    if (row.scratch->best_keys[c] >= key) count += count_equal_in_chunk(row.chunk(c), key);
  for (size_t i = whole_chunks * kChunk; i < static_cast<size_t>(end); ++i)
    count += rank_key(row.logits[i]) == key;
  return count;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
