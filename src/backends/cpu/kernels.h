// The tables of kernels that one instruction set provides; chosen once, when a backend is made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/linear/activations.h"
#include "backends/cpu/linear/packing.h"
#include "backends/cpu/target.h"
#include "program/graph.h"

namespace gumbel::cpu {

/// A matrix product x W^T, or a part of its rows x; strides are the matrices' own widths.
struct LinearTask {
  const std::byte* weights = nullptr;  ///< packed tiles
  int64_t tile_bytes = 0;
  int64_t columns = 0;                     ///< K
  int64_t outputs = 0;                     ///< N
  int64_t rows = 0;                        ///< M
  const std::byte* activations = nullptr;  ///< quantized, as in activations.h; or
  const float* x = nullptr;                ///< [M, K], for weights of float types
  float* out = nullptr;                    ///< [M, N]
};

/// Kernels of the matrix products of one weight type.
struct LinearKernels {
  ActivationTraits activations;
  /// Quantizes row `row` of a matrix of which `x` [columns] is that row, into `out`, the scratch of
  /// the whole matrix, in blocks of `block` rows; x == nullptr writes a row of zeros. Null for
  /// float types.
  void (*quantize)(const float* x, int64_t columns, int64_t row, int block,
                   const ActivationTraits& traits, std::byte* out);
  /// Computes the outputs of tiles [first, last) for all rows; `block` as in quantize.
  void (*multiply)(const LinearTask& task, int block, int64_t first, int64_t last);
};

/// Attention of one node over a cache, or the update of it; rows of the batch and heads one by one.
struct AttentionTask {
  const float* q = nullptr;            ///< [B, T, heads, Dk]
  const int64_t* positions = nullptr;  ///< [B, T]
  const KvCache* cache = nullptr;
  int64_t time = 0;
  int64_t heads = 0;
  int64_t window = 0;
  float scale = 1;
  float* out = nullptr;  ///< [B, T, heads, Dv]
};

struct CacheUpdateTask {
  const float* k = nullptr;            ///< [B, T, kv_heads, Dk]
  const float* v = nullptr;            ///< [B, T, kv_heads, Dv]
  const int64_t* positions = nullptr;  ///< [B, T]
  const KvCache* cache = nullptr;
  int64_t time = 0;
};

/// Rows (queries times the heads that share keys and values) that a call of `attend` takes.
inline constexpr int kAttentionRows = 8;

/// Floats of the score buffer of one call of `attend`: a row of scores spans whole blocks of keys,
/// one more than the cache has where its window ends within a block.
constexpr int64_t score_floats(int64_t capacity) {
  return kAttentionRows * (capacity + kKvCacheBlock);
}

struct AttentionKernels {
  /// Rows [first, last), at most kAttentionRows, of one head of keys and values; row r is query
  /// r / G and head kv_head * G + r % G, where G = heads / kv_heads. `scores` [score_floats].
  void (*attend)(const AttentionTask& task, int64_t batch, int64_t kv_head, int64_t first,
                 int64_t last, float* scores);
  /// Stores all positions of one head. Keys are [capacity / 16][key_dim][16], so that lanes are
  /// keys; values [capacity][value_dim].
  void (*update)(const CacheUpdateTask& task, int64_t batch, int64_t kv_head);
};

/// Kernels of the ops that work element by element or row by row.
struct VectorKernels {
  void (*add)(const float* a, const float* b, float* out, int64_t n);
  /// activation(gate) * up, by Activation
  void (*activate[3])(const float* gate, const float* up, float* out, int64_t n);
  /// x * scale
  void (*scale)(const float* x, float scale, float* out, int64_t n);
  /// cap * tanh(x / cap)
  void (*soft_cap)(const float* x, float cap, float* out, int64_t n);
  /// The sum of `count` rows [n] of x, each times its weight.
  void (*weighted_sum)(const float* x, const float* weights, int64_t count, float* out, int64_t n);
  /// One row of n.
  void (*rms_norm)(const float* x, const float* weight, float epsilon, float* out, int64_t n);
  /// `count` heads of `dim` at one position; table: [half] cosines, then [half] sines.
  void (*rotary)(const float* x, const float* table, float* out, int64_t count, int64_t dim,
                 int64_t half);
  /// One position.
  void (*rotary_table)(int64_t position, const float* frequencies, float* table, int64_t half);
};

/// One row of the batch of Op::kCausalConv.
struct CausalConvTask {
  const float* x = nullptr;     ///< [T, C]
  const float* taps = nullptr;  ///< [kept + 1, C]
  float* state = nullptr;       ///< [kept, C]
  float* out = nullptr;         ///< [T, C]
  int64_t time = 0;
  int64_t channels = 0;
  int64_t kept = 0;
};

/// One row of the batch of Op::kGatedDeltaRule.
struct DeltaRuleTask {
  const float* q = nullptr;         ///< [T, key_heads, Dk]
  const float* k = nullptr;         ///< [T, key_heads, Dk]
  const float* v = nullptr;         ///< [T, heads, Dv]
  const float* decay = nullptr;     ///< [T, heads]
  const float* strength = nullptr;  ///< [T, heads]
  const float* rate = nullptr;      ///< [heads]
  const float* bias = nullptr;      ///< [heads]
  float* state = nullptr;           ///< [heads, Dk, Dv]
  float* out = nullptr;             ///< [T, heads, Dv]
  int64_t time = 0;
  int64_t heads = 0;
  int64_t key_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  HeadOrder head_order = HeadOrder::kGrouped;
};

/// Kernels of the ops with a recurrent state, which they update.
struct RecurrentKernels {
  /// Channels [first, last).
  void (*causal_conv)(const CausalConvTask& task, int64_t first, int64_t last);
  /// Columns [first, last) of the state of one head, and the outputs that they make.
  void (*delta_rule)(const DeltaRuleTask& task, int64_t head, int64_t first, int64_t last);
};

AttentionKernels attention_kernels(CpuTarget target, DataType cache_type);
VectorKernels vector_kernels(CpuTarget target);
RecurrentKernels recurrent_kernels(CpuTarget target);

/// The kernels of `type` for `target`, which must be one that the machine supports.
LinearKernels linear_kernels(CpuTarget target, WeightType type);

}  // namespace gumbel::cpu
