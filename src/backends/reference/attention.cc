// Keys, values and attention: docs/numerics.md, "Attention".
#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/reference/ops.h"
#include "base/exp.h"
#include "base/float16.h"

namespace gumbel::reference {
namespace {

// Both caches are [batch, kv_heads, capacity, dim].
size_t cache_index(const KvCache& cache, int64_t b, int64_t head, int64_t position, int64_t dim) {
  return static_cast<size_t>(
      ((b * cache.kv_heads + head) * cache.capacity + position % cache.capacity) * dim);
}

void store(DataType type, std::byte* data, size_t index, float x) {
  if (type == DataType::kF16)
    reinterpret_cast<uint16_t*>(data)[index] = f32_to_f16(x);
  else
    reinterpret_cast<float*>(data)[index] = x;
}

float load(DataType type, const std::byte* data, size_t index) {
  return type == DataType::kF16 ? f16_to_f32(reinterpret_cast<const uint16_t*>(data)[index])
                                : reinterpret_cast<const float*>(data)[index];
}

// Attention of one head of one query, q [key_dim], over positions first to last; out [value_dim].
void attend(const KvCache& cache, int64_t b, int64_t kv_head, const float* q, int64_t first,
            int64_t last, float scale, std::vector<float>& weights, float* out) {
  weights.resize(static_cast<size_t>(last - first + 1));
  float largest = -INFINITY;
  for (int64_t j = first; j <= last; ++j) {
    const size_t key = cache_index(cache, b, kv_head, j, cache.key_dim);
    float dot = 0.0f;
    for (int64_t d = 0; d < cache.key_dim; ++d)
      dot = std::fma(q[d], load(cache.type, cache.keys, key + static_cast<size_t>(d)), dot);
    const float score = dot * scale;
    weights[static_cast<size_t>(j - first)] = score;
    largest = score > largest ? score : largest;
  }
  float partial[16] = {};
  for (int64_t j = first; j <= last; ++j) {
    float& weight = weights[static_cast<size_t>(j - first)];
    weight = exp_f32(weight - largest);
    partial[j % 16] = partial[j % 16] + weight;
  }
  const float inverse = 1.0f / tree_sum(partial);
  std::fill_n(out, cache.value_dim, 0.0f);
  for (int64_t j = first; j <= last; ++j) {
    const size_t value = cache_index(cache, b, kv_head, j, cache.value_dim);
    for (int64_t d = 0; d < cache.value_dim; ++d)
      out[d] = std::fma(weights[static_cast<size_t>(j - first)],
                        load(cache.type, cache.values, value + static_cast<size_t>(d)), out[d]);
  }
  for (int64_t d = 0; d < cache.value_dim; ++d) out[d] = out[d] * inverse;
}

}  // namespace

void cache_update(const OpCall& call) {
  const KvCache& cache = *call.cache;
  const Tensor& keys = call.inputs[0];
  const Tensor& positions = call.inputs[2];
  const int64_t time = keys.dims[1];
  const float* k = keys.as<float>();
  const float* v = call.inputs[1].as<float>();
  for (int64_t i = 0; i < keys.dims[0] * time; ++i) {
    const int64_t position = positions.as<int64_t>()[i];
    for (int64_t head = 0; head < cache.kv_heads; ++head) {
      const size_t key = cache_index(cache, i / time, head, position, cache.key_dim);
      const size_t value = cache_index(cache, i / time, head, position, cache.value_dim);
      for (int64_t d = 0; d < cache.key_dim; ++d)
        store(cache.type, cache.keys, key + static_cast<size_t>(d), *k++);
      for (int64_t d = 0; d < cache.value_dim; ++d)
        store(cache.type, cache.values, value + static_cast<size_t>(d), *v++);
    }
  }
}

void attention(const OpCall& call) {
  const KvCache& cache = *call.cache;
  const Tensor& queries = call.inputs[0];
  const Tensor& positions = call.inputs[1];
  const int64_t time = queries.dims[1];
  const int64_t heads = queries.dims[2];
  const int64_t heads_per_kv_head = heads / cache.kv_heads;
  const Attributes& attributes = call.node->attributes;
  std::vector<float> weights;
  const float* q = queries.as<float>();
  float* out = call.outputs[0].as<float>();
  for (int64_t i = 0; i < queries.dims[0] * time; ++i) {
    const int64_t last = positions.as<int64_t>()[i];
    const int64_t first =
        attributes.window > 0 ? std::max<int64_t>(0, last - attributes.window + 1) : 0;
    for (int64_t head = 0; head < heads; ++head, q += cache.key_dim, out += cache.value_dim)
      attend(cache, i / time, head / heads_per_kv_head, q, first, last, attributes.scale, weights,
             out);
  }
}

}  // namespace gumbel::reference
