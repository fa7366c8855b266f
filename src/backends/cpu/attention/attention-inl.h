// Attention over the key-value cache, and its update (docs/numerics.md, "Attention").

#if defined(GUMBEL_BACKENDS_CPU_ATTENTION_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GUMBEL_BACKENDS_CPU_ATTENTION_INL_H
#undef GUMBEL_BACKENDS_CPU_ATTENTION_INL_H
#else
#define GUMBEL_BACKENDS_CPU_ATTENTION_INL_H
#endif

#include <algorithm>
#include <limits>

#include "backends/cpu/kernels.h"
#include "backends/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {

/// Keys and values of one head of one row of the batch. T: uint16_t (float16) or float.
template <typename T>
struct HeadCache {
  T* keys;    ///< [capacity / 16][key_dim][16]
  T* values;  ///< [capacity][value_dim]
  int64_t capacity, key_dim, value_dim;

  HeadCache(const KvCache& cache, int64_t batch, int64_t kv_head)
      : capacity(cache.capacity), key_dim(cache.key_dim), value_dim(cache.value_dim) {
    const int64_t head = batch * cache.kv_heads + kv_head;
    keys = reinterpret_cast<T*>(cache.keys) + head * capacity * key_dim;
    values = reinterpret_cast<T*>(cache.values) + head * capacity * value_dim;
  }
  /// In range for any position, so that no input reads or writes elsewhere.
  int64_t slot(int64_t position) const {
    return static_cast<int64_t>(static_cast<uint64_t>(position) % static_cast<uint64_t>(capacity));
  }
  T* block(int64_t slot_of_first) const { return keys + slot_of_first * key_dim; }
};

HWY_INLINE VF32 load_cache(const uint16_t* from) { return load_f16(from); }
HWY_INLINE VF32 load_cache(const float* from) { return hn::LoadU(F32(), from); }
HWY_INLINE float load_one(const uint16_t* from) { return f16_to_f32(*from); }
HWY_INLINE float load_one(const float* from) { return *from; }
HWY_INLINE void store_cache(VF32 v, uint16_t* to) { store_f16(v, to); }
HWY_INLINE void store_cache(VF32 v, float* to) { hn::StoreU(v, F32(), to); }
HWY_INLINE void store_one(float v, uint16_t* to) { *to = f32_to_f16(v); }
HWY_INLINE void store_one(float v, float* to) { *to = v; }

/// One query of one head, which sees the keys [low, high].
struct AttentionRow {
  const float* q;
  float* out;
  float* scores;  ///< of the keys from `first` on
  int64_t low, high;
  int64_t first;  ///< a multiple of 16
};

/// Scores of kRows rows against kStrips runs of kLanes keys, written to scores + at. Enough chains
/// of multiply-adds to hide their latency.
template <typename T, int kRows, int kStrips>
HWY_INLINE void score_strips(const HeadCache<T>& cache, const AttentionRow* rows, int64_t position,
                             float scale) {
  const F32 d;
  const T* keys[kStrips];
  VF32 acc[kRows][kStrips];
  GUMBEL_UNROLL
  for (int s = 0; s < kStrips; ++s) {
    const int64_t strip = position + s * kLanes;
    keys[s] = cache.block(cache.slot(strip / 16 * 16)) + strip % 16;
    GUMBEL_UNROLL
    for (int r = 0; r < kRows; ++r) acc[r][s] = hn::Zero(d);
  }
  for (int64_t i = 0; i < cache.key_dim; ++i) {
    VF32 key[kStrips];
    GUMBEL_UNROLL
    for (int s = 0; s < kStrips; ++s) key[s] = load_cache(keys[s] + 16 * i);
    GUMBEL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const VF32 q = hn::Set(d, rows[r].q[i]);
      GUMBEL_UNROLL
      for (int s = 0; s < kStrips; ++s) acc[r][s] = fused_multiply_add(q, key[s], acc[r][s]);
    }
  }
  GUMBEL_UNROLL
  for (int r = 0; r < kRows; ++r) {
    GUMBEL_UNROLL
    for (int s = 0; s < kStrips; ++s)
      hn::StoreU(hn::Mul(acc[r][s], hn::Set(d, scale)), d,
                 rows[r].scores + position - rows[r].first + s * kLanes);
  }
}

/// Scores of kRows rows against the keys [first, last), multiples of 16.
template <typename T, int kRows, int kStrips>
HWY_INLINE void score_rows(const HeadCache<T>& cache, const AttentionRow* rows, int64_t first,
                           int64_t last, float scale) {
  int64_t position = first;
  if constexpr (kStrips > 1)
    for (; position + kStrips * kLanes <= last; position += kStrips * kLanes)
      score_strips<T, kRows, kStrips>(cache, rows, position, scale);
  for (; position < last; position += kLanes)
    score_strips<T, kRows, 1>(cache, rows, position, scale);
}

template <typename T>
HWY_INLINE void score(const HeadCache<T>& cache, const AttentionRow* rows, int64_t count,
                      int64_t first, int64_t last, float scale) {
  if (count >= 8) return score_rows<T, 8, 1>(cache, rows, first, last, scale);
  if (count >= 4) {
    score_rows<T, 4, 2>(cache, rows, first, last, scale);
    rows += 4;
    count -= 4;
  }
  if (count == 3) return score_rows<T, 3, 2>(cache, rows, first, last, scale);
  if (count == 2) return score_rows<T, 2, 4>(cache, rows, first, last, scale);
  if (count == 1) return score_rows<T, 1, 4>(cache, rows, first, last, scale);
}

/// Turns a row's scores into e[j] = exp(score[j] - max), 0 for keys of its blocks that it does not
/// see, and returns their sum.
HWY_INLINE float exponentials(const AttentionRow& row) {
  const F32 d;
  const int64_t begin = row.low / 16 * 16 - row.first;
  const int64_t end = row.high / 16 * 16 + 16 - row.first;
  float* scores = row.scores;
  const float lowest = -std::numeric_limits<float>::infinity();
  for (int64_t j = begin; j < row.low - row.first; ++j) scores[j] = lowest;
  for (int64_t j = row.high - row.first + 1; j < end; ++j) scores[j] = lowest;
  VF32 largest = hn::Set(d, lowest);
  for (int64_t j = begin; j < end; j += kLanes)
    largest = hn::Max(largest, hn::LoadU(d, scores + j));
  const VF32 max = hn::MaxOfLanes(d, largest);
  // Lane i of 16 is the partial sum of the positions i mod 16. Unseen keys add 0 to sums >= 0.
  VF32 sums[kVectors];
  GUMBEL_UNROLL
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  for (int64_t j = begin; j < end; j += 16) {
    GUMBEL_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const VF32 e = exp(hn::Sub(hn::LoadU(d, scores + j + v * kLanes), max));
      hn::StoreU(e, d, scores + j + v * kLanes);
      sums[v] = hn::Add(sums[v], e);
    }
  }
  float partials[16];
  GUMBEL_UNROLL
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, partials + v * kLanes);
  return sum_of_partials(partials);
}

/// out[d] += e[j] v[j][d] for kRows rows, the keys [low, high], whose slots are consecutive, and
/// kDims vectors of d from `dim` on.
template <typename T, int kRows, int kDims>
HWY_INLINE void weigh_dims(const HeadCache<T>& cache, const AttentionRow* rows, int64_t low,
                           int64_t high, int64_t dim) {
  const F32 d;
  VF32 acc[kRows][kDims];
  const float* e[kRows];
  GUMBEL_UNROLL
  for (int r = 0; r < kRows; ++r) {
    e[r] = rows[r].scores - rows[r].first;
    GUMBEL_UNROLL
    for (int i = 0; i < kDims; ++i) acc[r][i] = hn::LoadU(d, rows[r].out + dim + i * kLanes);
  }
  const T* v = cache.values + cache.slot(low) * cache.value_dim + dim;
  for (int64_t j = low; j <= high; ++j, v += cache.value_dim) {
    VF32 value[kDims];
    GUMBEL_UNROLL
    for (int i = 0; i < kDims; ++i) value[i] = load_cache(v + i * kLanes);
    GUMBEL_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const VF32 weight = hn::Set(d, e[r][j]);
      GUMBEL_UNROLL
      for (int i = 0; i < kDims; ++i) acc[r][i] = fused_multiply_add(weight, value[i], acc[r][i]);
    }
  }
  GUMBEL_UNROLL
  for (int r = 0; r < kRows; ++r) {
    GUMBEL_UNROLL
    for (int i = 0; i < kDims; ++i) hn::StoreU(acc[r][i], d, rows[r].out + dim + i * kLanes);
  }
}

template <typename T, int kRows>
HWY_INLINE void weigh_run(const HeadCache<T>& cache, const AttentionRow* rows, int64_t low,
                          int64_t high) {
  constexpr int kDims = 4;
  int64_t dim = 0;
  for (; dim + kDims * kLanes <= cache.value_dim; dim += kDims * kLanes)
    weigh_dims<T, kRows, kDims>(cache, rows, low, high, dim);
  for (; dim + kLanes <= cache.value_dim; dim += kLanes)
    weigh_dims<T, kRows, 1>(cache, rows, low, high, dim);
  if (dim == cache.value_dim) return;
  for (int r = 0; r < kRows; ++r) {
    const float* e = rows[r].scores - rows[r].first;
    const T* v = cache.values + cache.slot(low) * cache.value_dim;
    for (int64_t j = low; j <= high; ++j, v += cache.value_dim)
      for (int64_t i = dim; i < cache.value_dim; ++i)
        rows[r].out[i] = std::fma(e[j], load_one(v + i), rows[r].out[i]);
  }
}

/// out += the sum of e[j] v[j] over the keys [low, high], ascending, in runs between the ends of
/// the ring.
template <typename T>
HWY_INLINE void weigh(const HeadCache<T>& cache, const AttentionRow* rows, int64_t count,
                      int64_t low, int64_t high) {
  while (low <= high) {
    const int64_t end = std::min(high, low + (cache.capacity - 1 - cache.slot(low)));
    int64_t r = 0;
    for (; r + 4 <= count; r += 4) weigh_run<T, 4>(cache, rows + r, low, end);
    if (count - r == 3) weigh_run<T, 3>(cache, rows + r, low, end);
    if (count - r == 2) weigh_run<T, 2>(cache, rows + r, low, end);
    if (count - r == 1) weigh_run<T, 1>(cache, rows + r, low, end);
    low = end + 1;
  }
}

template <typename T>
void attend_rows(const HeadCache<T>& cache, AttentionRow* rows, int64_t count, float scale,
                 float* scores) {
  int64_t low = rows[0].low, high = rows[0].high;                // keys that some row sees
  int64_t shared_low = rows[0].low, shared_high = rows[0].high;  // keys that all see
  for (int64_t r = 1; r < count; ++r) {
    low = std::min(low, rows[r].low);
    high = std::max(high, rows[r].high);
    shared_low = std::max(shared_low, rows[r].low);
    shared_high = std::min(shared_high, rows[r].high);
  }
  const int64_t first = low / 16 * 16;
  const int64_t last = high / 16 * 16 + 16;
  if (count > 1 && (last - first > cache.capacity + kKvCacheBlock || shared_low > shared_high)) {
    // Positions far apart: nothing to share.
    for (int64_t r = 0; r < count; ++r) attend_rows(cache, rows + r, 1, scale, scores);
    return;
  }
  for (int64_t r = 0; r < count; ++r) {
    rows[r].first = first;
    rows[r].scores = scores + r * (last - first);
  }
  score(cache, rows, count, first, last, scale);
  float factors[kAttentionRows];
  for (int64_t r = 0; r < count; ++r) {
    factors[r] = 1.0f / exponentials(rows[r]);
    std::fill_n(rows[r].out, cache.value_dim, 0.0f);
    weigh(cache, rows + r, 1, rows[r].low, shared_low - 1);
  }
  weigh(cache, rows, count, shared_low, shared_high);
  for (int64_t r = 0; r < count; ++r) {
    weigh(cache, rows + r, 1, shared_high + 1, rows[r].high);
    for (int64_t i = 0; i < cache.value_dim; ++i) rows[r].out[i] *= factors[r];
  }
}

/// AttentionKernels::attend.
template <typename T>
void attend(const AttentionTask& task, int64_t batch, int64_t kv_head, int64_t first, int64_t last,
            float* scores) {
  const HeadCache<T> cache(*task.cache, batch, kv_head);
  const int64_t shared = task.heads / task.cache->kv_heads;
  AttentionRow rows[kAttentionRows];
  for (int64_t r = first; r < last; ++r) {
    const int64_t t = batch * task.time + r / shared;
    const int64_t head = t * task.heads + kv_head * shared + r % shared;
    AttentionRow& row = rows[r - first];
    row.q = task.q + head * cache.key_dim;
    row.out = task.out + head * cache.value_dim;
    row.high = std::max<int64_t>(task.positions[t], 0);
    const int64_t seen = task.window > 0 ? std::min(task.window, cache.capacity) : cache.capacity;
    row.low = std::max<int64_t>(row.high - seen + 1, 0);
  }
  attend_rows(cache, rows, last - first, task.scale, scores);
}

/// AttentionKernels::update.
template <typename T>
void update_cache(const CacheUpdateTask& task, int64_t batch, int64_t kv_head) {
  const HeadCache<T> cache(*task.cache, batch, kv_head);
  for (int64_t t = batch * task.time; t < (batch + 1) * task.time; ++t) {
    const int64_t slot = cache.slot(task.positions[t]);
    const int64_t head = t * task.cache->kv_heads + kv_head;
    const float* k = task.k + head * cache.key_dim;
    const float* v = task.v + head * cache.value_dim;
    T* keys = cache.block(slot / 16 * 16) + slot % 16;
    T* values = cache.values + slot * cache.value_dim;
    int64_t i = 0;
    for (; i + kLanes <= cache.key_dim; i += kLanes) {
      T lanes[16];
      store_cache(hn::LoadU(F32(), k + i), lanes);
      for (int j = 0; j < kLanes; ++j) keys[16 * (i + j)] = lanes[j];
    }
    for (; i < cache.key_dim; ++i) store_one(k[i], keys + 16 * i);
    for (i = 0; i + kLanes <= cache.value_dim; i += kLanes)
      store_cache(hn::LoadU(F32(), v + i), values + i);
    for (; i < cache.value_dim; ++i) store_one(v[i], values + i);
  }
}

}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // GUMBEL_BACKENDS_CPU_ATTENTION_INL_H
