// What a device must provide to run programs.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "program/graph.h"
#include "program/weight_rows.h"

namespace gumbel {

/// Keys and values of one attention layer of one session. A position p lies in slot p % capacity.
/// The arrangement of elements within `keys` and `values` is the backend's own.
struct KvCache {
  DataType type = DataType::kF16;
  int64_t batch = 0;
  int64_t kv_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  int64_t capacity = 0;       ///< slots of each row of the batch, a multiple of kKvCacheBlock
  std::byte* keys = nullptr;  ///< batch * kv_heads * capacity * key_dim elements, 64-byte aligned
  std::byte* values =
      nullptr;  ///< batch * kv_heads * capacity * value_dim elements, 64-byte aligned
};

/// Cache capacities are multiples of this, so that a block of keys aligned to absolute positions is
/// contiguous in a ring too.
inline constexpr int64_t kKvCacheBlock = 16;

/// A recurrent state of one session, row-major [batch, elements], f32. A row whose call begins at
/// position 0 starts from zeros, whatever it holds.
struct RecurrentState {
  int64_t batch = 0;
  int64_t elements = 0;   ///< of each row of the batch
  float* data = nullptr;  ///< 64-byte aligned
};

/// A dense row-major tensor of one call, its dimensions all known.
struct Tensor {
  DataType type = DataType::kF32;
  int rank = 0;
  std::array<int64_t, kMaxRank> dims = {};
  std::byte* data = nullptr;  ///< 64-byte aligned

  int64_t elements() const {
    int64_t product = 1;
    for (int i = 0; i < rank; ++i) product *= dims[static_cast<size_t>(i)];
    return product;
  }
  int64_t last() const { return dims[static_cast<size_t>(rank - 1)]; }
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

/// The state of row `b`, zeroed where its call, at `positions` i64 [B, T], begins at position 0.
inline float* begin_row(const RecurrentState& state, const Tensor& positions, int64_t b) {
  float* row = state.data + b * state.elements;
  if (positions.as<int64_t>()[b * positions.dims[1]] == 0) std::fill_n(row, state.elements, 0.0f);
  return row;
}

/// A weight in the arrangement of the backend that runs it. Vectors (rows 1, is_vector) are plain
/// float32 on every backend; matrices are as Backend::pack wrote them, several of one shape (the
/// experts of a layer) one after the other.
struct PackedWeight {
  WeightType type = WeightType::kF32;
  int64_t matrices = 1;
  int64_t rows = 0;  ///< of each matrix
  int64_t columns = 0;
  bool is_vector = false;
  const std::byte* data = nullptr;  ///< 64-byte aligned
};

/// One node of a method with everything it works on. Shapes have been checked.
struct OpCall {
  const Node* node = nullptr;
  std::span<const Tensor> inputs;
  std::span<const PackedWeight> weights;
  std::span<const Tensor> outputs;
  KvCache* cache = nullptr;             ///< of an op with a key-value cache
  RecurrentState* recurrent = nullptr;  ///< of an op with a recurrent state
  std::span<std::byte> scratch;         ///< at least scratch_bytes(call), 64-byte aligned
};

/// A device: how it arranges weights and how it executes one op. It knows nothing of models.
class Backend {
 public:
  virtual ~Backend() = default;
  /// "cpu", "reference", ...: the name a program records as the packing of its weights.
  virtual std::string_view name() const = 0;

  /// Matrices are packed in runs of whole multiples of this many rows (the last run may end early),
  /// each run on its own; the packed matrix is the runs one after the other.
  virtual int64_t rows_per_run() const = 0;
  /// Bytes of `rows` packed rows of a matrix.
  virtual uint64_t packed_bytes(WeightType type, int64_t rows, int64_t columns) const = 0;
  /// Packs a run of rows into `packed` [packed_bytes(type, rows, columns)].
  virtual void pack(const WeightRows& rows, std::span<std::byte> packed) const = 0;
  /// The inverse of pack for rows [first, first + count) of one packed matrix: exactly what was
  /// packed.
  virtual void unpack(const PackedWeight& matrix, int64_t first, int64_t count,
                      WeightRows& rows) const = 0;

  /// Bytes of scratch memory for a call of these shapes, those of its cache among them; data
  /// pointers are not set yet. Never more for a call with a smaller batch or time.
  virtual uint64_t scratch_bytes(const OpCall& call) const = 0;
  /// Executes one op. Does not allocate, and does not throw for a call whose shapes were checked.
  virtual void execute(const OpCall& call) = 0;
};

/// A backend by name, with a pool of `threads` threads (0: as ThreadPool). Throws
/// Error(kUnsupported), listing those there are, for another name. Defined in src/backends.
std::unique_ptr<Backend> make_backend(std::string_view name, int threads);

}  // namespace gumbel
