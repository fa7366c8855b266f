// The k best tokens as a prefix of the ranking, without sorting.
#if defined(GUMBEL_SAMPLE_TOP_K_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GUMBEL_SAMPLE_TOP_K_INL_H
#undef GUMBEL_SAMPLE_TOP_K_INL_H
#else
#define GUMBEL_SAMPLE_TOP_K_INL_H
#endif

#include <bit>
#include <iterator>

#include "backends/cpu/sample/sample_scan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {

/// How many of `count` keys are at least `key`. The list is padded to a whole vector with
/// INT32_MIN.
HWY_INLINE int64_t count_at_least(const int32_t* keys, size_t count, int32_t key) {
  const IntTag d;
  const auto below = hn::Set(d, key - 1);
  auto minus_count = hn::Zero(d);
  for (size_t i = 0; i < count; i += hn::Lanes(d))
    minus_count = hn::Add(minus_count, hn::VecFromMask(d, hn::Gt(hn::LoadU(d, keys + i), below)));
  return -int64_t{hn::GetLane(hn::SumOfLanes(d, minus_count))};
}

/// The k-th largest of `count` keys, padded as above, 1 <= k <= count, which lies in [low, high]:
/// the largest key that k of them reach, by bisection.
inline HWY_NOINLINE int32_t kth_largest(const int32_t* keys, size_t count, int64_t k, int32_t low,
                                        int32_t high) {
  int64_t reached = low;  // by at least k keys
  int64_t missed = int64_t{high} + 1;
  while (missed - reached > 1) {
    const int64_t middle = reached + (missed - reached) / 2;
    if (count_at_least(keys, count, static_cast<int32_t>(middle)) >= k)
      reached = middle;
    else
      missed = middle;
  }
  return static_cast<int32_t>(reached);
}

HWY_INLINE void pad_to_vector(int32_t* keys, size_t count) {
  std::fill(keys + count, keys + round_up_to_vector(count), std::numeric_limits<int32_t>::min());
}

/// A range of keys, ends included.
struct KeyRange {
  int32_t low;
  int32_t high;
};

inline constexpr KeyRange kEveryKey{kSmallestKey, kLargestKey};

/// A range that holds the k-th largest key and few others, probably: select_top_k() checks.
HWY_INLINE KeyRange guess_range_of_kth(const Row& row, int64_t k) {
  SampleScratch& scratch = *row.scratch;
  if (k <= static_cast<int64_t>(row.chunks)) {
    // k chunks reach the k-th best of the chunks' best, so k tokens do.
    const int32_t low = kth_largest(scratch.best_keys, row.chunks, k, kBannedKey, row.best_key);
    return {std::max(low, kSmallestKey), row.best_key};
  }
  constexpr int64_t kSample = 4096;
  if (row.vocab < 4 * kSample) return {kSmallestKey, row.best_key};
  // Of 4,096 tokens drawn at random, how many are among the best k has a standard deviation of at
  // most sqrt(4096 / 4) = 32. Evenly spaced ones stand in for random ones; four deviations to each
  // side.
  const int64_t stride = row.vocab / kSample;
  for (int64_t i = 0; i < kSample; ++i) scratch.keys[i] = rank_key(row.logits[i * stride]);
  const int64_t expected = k * kSample / row.vocab;
  const auto sampled = [&](int64_t rank) {
    return kth_largest(scratch.keys, kSample, rank, kBannedKey, row.best_key);
  };
  const int64_t margin = 128;
  KeyRange range{kSmallestKey, row.best_key};
  if (expected + margin <= kSample) range.low = std::max(sampled(expected + margin), kSmallestKey);
  if (expected - margin >= 1) range.high = std::max(sampled(expected - margin), range.low);
  return range;
}

/// One bit for every token of a chunk whose key is in `range`; adds to `beyond` how many lie above
/// it.
HWY_INLINE void find_keys_in(const float* chunk, KeyRange range, uint64_t (&bits)[kChunk / 64],
                             int64_t& beyond) {
  const IntTag d;
  // A mask of fewer than 8 lanes does not fill the byte that it is stored to.
  if constexpr (hn::MaxLanes(IntTag()) >= 8) {
    const KeyAbove above_low(range.low - 1), above_high(range.high);
    const auto* raw = reinterpret_cast<const int32_t*>(chunk);
    auto* out = reinterpret_cast<uint8_t*>(bits);
    auto minus_beyond = hn::Zero(d);
    for (size_t i = 0; i < kChunk; i += hn::Lanes(d)) {
      const auto v = hn::LoadU(d, raw + i);
      const auto high =
          hn::Gt(hn::Xor(v, hn::Set(d, above_high.flip)), hn::Set(d, above_high.below));
      const auto low = hn::Gt(hn::Xor(v, hn::Set(d, above_low.flip)), hn::Set(d, above_low.below));
      minus_beyond = hn::Add(minus_beyond, hn::VecFromMask(d, high));
      hn::StoreMaskBits(d, hn::AndNot(high, low), out + i / 8);
    }
    beyond -= hn::GetLane(hn::SumOfLanes(d, minus_beyond));
  } else {
    std::fill(std::begin(bits), std::end(bits), 0);
    for (size_t i = 0; i < kChunk; ++i) {
      const int32_t key = rank_key(chunk[i]);
      bits[i / 64] |= uint64_t{key >= range.low && key <= range.high} << (i % 64);
      beyond += key > range.high;
    }
  }
}

/// Copies the keys in `range` to scratch.keys, padded, and returns how many; `above` counts the
/// keys beyond it. (Highway's Compress would do, but on AVX2 its table is copied to the stack every
/// time.)
inline HWY_NOINLINE size_t gather_keys(const Row& row, KeyRange range, int64_t& above) {
  int32_t* keys = row.scratch->keys;
  size_t count = 0;
  above = 0;
  for (size_t c = 0; c < row.chunks; ++c) {
    if (row.scratch->best_keys[c] < range.low) continue;
    const float* chunk = row.chunk(c);
    uint64_t inside[kChunk / 64];
    find_keys_in(chunk, range, inside, above);
    for (size_t word = 0; word < kChunk / 64; ++word)
      for (uint64_t bits = inside[word]; bits != 0; bits &= bits - 1)
        keys[count++] = rank_key(chunk[word * 64 + static_cast<size_t>(std::countr_zero(bits))]);
  }
  pad_to_vector(keys, count);
  return count;
}

/// The prefix of the k best tokens, k >= 1; every token where no more than k are not banned.
inline HWY_NOINLINE Prefix select_top_k(const Row& row, int64_t k) {
  if (k >= row.vocab) return {};
  const int32_t* keys = row.scratch->keys;
  KeyRange range = guess_range_of_kth(row, k);
  int64_t above = 0;
  size_t count = gather_keys(row, range, above);
  if (above >= k || above + static_cast<int64_t>(count) < k) {
    range = kEveryKey;
    count = gather_keys(row, range, above);
    if (static_cast<int64_t>(count) <= k) return {};
  }
  const int32_t key = kth_largest(keys, count, k - above, range.low, range.high);
  const int64_t at_least = above + count_at_least(keys, count, key);
  const int64_t larger = above + (key < range.high ? count_at_least(keys, count, key + 1) : 0);
  Prefix prefix{.key = key, .ties = k - larger, .last_tie = -1};
  if (at_least == k) return {.key = key - 1, .ties = 0, .last_tie = -1};
  // Some of the tokens with this key are left out: find the last that is not.
  int64_t left = prefix.ties;
  size_t c = 0;
  for (;; ++c) {
    if (row.scratch->best_keys[c] < key) continue;
    const int64_t ties = count_equal_in_chunk(row.chunk(c), key);
    if (left <= ties) break;
    left -= ties;
  }
  size_t i = 0;
  while (rank_key(row.chunk(c)[i]) != key || --left > 0) ++i;
  prefix.last_tie = static_cast<int64_t>(c * kChunk + i);
  return prefix;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
