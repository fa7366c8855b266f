// The ops of the CPU backend: how each is cut into pieces for the threads. Pieces are of output
// elements, so that how many there are changes no bit.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/pieces.h"

namespace gumbel::cpu {
void CpuBackend::embedding(const OpCall& call) const {
  const Tensor& tokens = call.inputs[0];
  const PackedWeight& table = call.weights[0];
  const float scale = call.node->attributes.scale;
  for_pieces(pool_, tokens.elements(), 8 * tokens.elements() * table.columns,
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i) {
                 const int64_t token = tokens.as<int64_t>()[i];
                 float* out = call.outputs[0].as<float>() + i * table.columns;
                 if (token < 0 || token >= table.rows) {
                   std::fill_n(out, table.columns, std::numeric_limits<float>::quiet_NaN());
                   continue;
                 }
                 gather_row(table, token, out);
                 if (scale != 1.0f) vector_.scale(out, scale, out, table.columns);
               }
             });
}

void CpuBackend::rms_norm(const OpCall& call) const {
  const Tensor& x = call.inputs[0];
  const auto* weight = reinterpret_cast<const float*>(call.weights[0].data);
  const int64_t n = x.last();
  for_pieces(pool_, x.elements() / n, x.elements(), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      vector_.rms_norm(x.as<float>() + row * n, weight, call.node->attributes.epsilon,
                       call.outputs[0].as<float>() + row * n, n);
  });
}

void CpuBackend::linear(const OpCall& call) const {
  const PackedWeight& matrix = call.weights[0];
  const LinearKernels& kernels = linear_[static_cast<size_t>(matrix.type)];
  const auto* x = call.inputs[0].as<const float>();
  LinearTask task;
  task.weights = matrix.data;
  task.tile_bytes = tile_bytes(matrix.type, matrix.columns);
  task.columns = matrix.columns;
  task.outputs = matrix.rows;
  const int64_t rows = call.inputs[0].elements() / matrix.columns;
  const int block = block_rows(rows, kernels.activations.most_rows);
  if (kernels.quantize != nullptr) {
    const int64_t all_rows = (rows + block - 1) / block * block;
    for_pieces(pool_, all_rows, all_rows * task.columns, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        kernels.quantize(row < rows ? x + row * task.columns : nullptr, task.columns, row, block,
                         kernels.activations, call.scratch.data());
    });
  }
  // A piece of tiles meets up to 128 rows at a time, whose activations stay in the second-level
  // cache while one tile after another, each in the first-level cache, goes over them.
  constexpr int64_t kRowsAtATime = 128;
  const auto multiply = [&](int64_t first, int64_t last) {
    for (int64_t row = 0; row < rows; row += kRowsAtATime) {
      LinearTask part = task;
      part.rows = std::min(rows - row, kRowsAtATime);
      part.x = x + row * task.columns;
      part.activations = call.scratch.data() +
                         row / block * (task.columns / kGroup) * ActivationLayout{block}.bytes();
      part.out = call.outputs[0].as<float>() + row * task.outputs;
      kernels.multiply(part, block, first, last);
    }
  };
  for_pieces(pool_, tile_count(matrix.rows), tile_count(matrix.rows) * task.tile_bytes * rows,
             multiply);
}

void CpuBackend::rotary_table(const OpCall& call) const {
  const Tensor& positions = call.inputs[0];
  const auto* frequencies = reinterpret_cast<const float*>(call.weights[0].data);
  const int64_t half = call.weights[0].columns;
  // An angle costs about 16 elements of other ops.
  for_pieces(pool_, positions.elements(), 16 * positions.elements() * half,
             [&](int64_t begin, int64_t end) {
               for (int64_t i = begin; i < end; ++i)
                 vector_.rotary_table(positions.as<int64_t>()[i], frequencies,
                                      call.outputs[0].as<float>() + i * 2 * half, half);
             });
}

void CpuBackend::rotary(const OpCall& call) const {
  const Tensor& x = call.inputs[0];
  const Tensor& table = call.inputs[1];
  const int64_t heads = x.dims[2];
  const int64_t dim = x.dims[3];
  for_pieces(pool_, x.dims[0] * x.dims[1], x.elements(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      vector_.rotary(x.as<float>() + i * heads * dim, table.as<float>() + i * table.last(),
                     call.outputs[0].as<float>() + i * heads * dim, heads, dim, table.last() / 2);
  });
}

void CpuBackend::cache_update(const OpCall& call) const {
  const KvCache& cache = *call.cache;
  const AttentionKernels& kernels = cache.type == DataType::kF16 ? attention_f16_ : attention_f32_;
  CacheUpdateTask task;
  task.k = call.inputs[0].as<float>();
  task.v = call.inputs[1].as<float>();
  task.positions = call.inputs[2].as<int64_t>();
  task.cache = &cache;
  task.time = call.inputs[0].dims[1];
  const int64_t elements = call.inputs[0].elements() + call.inputs[1].elements();
  for_pieces(pool_, cache.batch * cache.kv_heads, elements, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      kernels.update(task, i / cache.kv_heads, i % cache.kv_heads);
  });
}

void CpuBackend::attention(const OpCall& call) const {
  const KvCache& cache = *call.cache;
  const AttentionKernels& kernels = cache.type == DataType::kF16 ? attention_f16_ : attention_f32_;
  const Tensor& q = call.inputs[0];
  AttentionTask task;
  task.q = q.as<float>();
  task.positions = call.inputs[1].as<int64_t>();
  task.cache = &cache;
  task.time = q.dims[1];
  task.heads = q.dims[2];
  task.window = call.node->attributes.window;
  task.scale = call.node->attributes.scale;
  task.out = call.outputs[0].as<float>();

  // Rows of one head of keys and values: the more are taken together, the less often those are
  // read.
  const int64_t kv_heads = q.dims[0] * cache.kv_heads;
  const int64_t rows = task.time * (task.heads / cache.kv_heads);
  const int64_t threads = pool_.threads();
  const int64_t split = (threads + kv_heads - 1) / kv_heads;
  const int64_t together = std::clamp<int64_t>((rows + split - 1) / split, 1, kAttentionRows);
  const int64_t pieces = (rows + together - 1) / together;
  const int64_t count = kv_heads * pieces;
  std::atomic<int64_t> next = 0;
  const auto work = [&](size_t worker) {
    auto* scores = reinterpret_cast<float*>(call.scratch.data()) +
                   static_cast<int64_t>(worker) * score_floats(cache.capacity);
    for (;;) {
      const int64_t i = next.fetch_add(1, std::memory_order_relaxed);
      if (i >= count) return;
      const int64_t head = i / pieces;
      const int64_t first = i % pieces * together;
      kernels.attend(task, head / cache.kv_heads, head % cache.kv_heads, first,
                     std::min(first + together, rows), scores);
    }
  };
  // Multiply-adds, about: an upper bound where positions are lower than the cache is long.
  const int64_t seen =
      std::min(cache.capacity,
               1 + *std::max_element(task.positions, task.positions + q.dims[0] * task.time));
  if (kv_heads * rows * seen * cache.key_dim < 2 * kElementsPerPiece)
    work(0);
  else
    pool_.parallel_for(static_cast<size_t>(threads), work);
}

void CpuBackend::add(const OpCall& call) const {
  const auto* a = call.inputs[0].as<const float>();
  const auto* b = call.inputs[1].as<const float>();
  auto* out = call.outputs[0].as<float>();
  const int64_t n = call.outputs[0].elements();
  for_pieces(pool_, n, n, [&](int64_t begin, int64_t end) {
    vector_.add(a + begin, b + begin, out + begin, end - begin);
  });
}

void CpuBackend::gated_activation(const OpCall& call) const {
  const auto* gate = call.inputs[0].as<const float>();
  const auto* up = call.inputs[1].as<const float>();
  auto* out = call.outputs[0].as<float>();
  const auto activate = vector_.activate[static_cast<size_t>(call.node->attributes.activation)];
  const int64_t n = call.outputs[0].elements();
  const int64_t width = call.inputs[1].last();
  if (call.inputs[0].last() == width) {
    for_pieces(pool_, n, 4 * n, [&](int64_t begin, int64_t end) {
      activate(gate + begin, up + begin, out + begin, end - begin);
    });
    return;
  }
  for_pieces(pool_, n / width, n, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float one = 1.0f;
      float factor = 0.0f;
      activate(gate + row, &one, &factor, 1);
      vector_.scale(up + row * width, factor, out + row * width, width);
    }
  });
}

void CpuBackend::scale(const OpCall& call) const {
  const auto* x = call.inputs[0].as<const float>();
  auto* out = call.outputs[0].as<float>();
  const int64_t n = call.outputs[0].elements();
  for_pieces(pool_, n, n, [&](int64_t begin, int64_t end) {
    vector_.scale(x + begin, call.node->attributes.scale, out + begin, end - begin);
  });
}

void CpuBackend::soft_cap(const OpCall& call) const {
  const auto* x = call.inputs[0].as<const float>();
  auto* out = call.outputs[0].as<float>();
  const int64_t n = call.outputs[0].elements();
  for_pieces(pool_, n, 4 * n, [&](int64_t begin, int64_t end) {
    vector_.soft_cap(x + begin, call.node->attributes.scale, out + begin, end - begin);
  });
}

void CpuBackend::slice(const OpCall& call) const {
  const Tensor& x = call.inputs[0];
  const int64_t width = call.outputs[0].last();
  const int64_t rows = x.elements() / x.last();
  for_pieces(pool_, rows, rows * width, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row)
      std::memcpy(call.outputs[0].as<float>() + row * width,
                  x.as<float>() + row * x.last() + call.node->attributes.begin,
                  static_cast<size_t>(width) * sizeof(float));
  });
}

void CpuBackend::select_last(const OpCall& call) const {
  const Tensor& x = call.inputs[0];
  const auto row_bytes = static_cast<size_t>(x.last()) * sizeof(float);
  for (int64_t b = 0; b < x.dims[0]; ++b)
    std::memcpy(call.outputs[0].data + static_cast<size_t>(b) * row_bytes,
                x.data + static_cast<size_t>((b + 1) * x.dims[1] - 1) * row_bytes, row_bytes);
}

}  // namespace gumbel::cpu
