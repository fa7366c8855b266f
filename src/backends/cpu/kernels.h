// The tables of kernels that one instruction set provides; chosen once, when a backend is made.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/activations.h"
#include "backends/cpu/packing.h"
#include "backends/cpu/target.h"

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
  /// the whole matrix, in blocks of `block` rows; x == nullptr writes a row of zeros. Null for float
  /// types.
  void (*quantize)(const float* x, int64_t columns, int64_t row, int block,
                   const ActivationTraits& traits, std::byte* out);
  /// Computes the outputs of tiles [first, last) for all rows.
  void (*multiply)(const LinearTask& task, int64_t first, int64_t last);
};

/// The kernels of `type` for `target`, which must be one that the machine supports.
LinearKernels linear_kernels(CpuTarget target, WeightType type);

}  // namespace gumbel::cpu
