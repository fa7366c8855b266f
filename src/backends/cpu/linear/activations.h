// Activations quantized to 8 bits for the integer matrix products, arranged for their kernels.
#pragma once

#include <cstdint>

#include "backends/cpu/linear/packing.h"

namespace gumbel::cpu {

/// Rows of activations that a kernel takes at a time, so that the codes of a weight, once decoded,
/// serve them all: the least of 1, 2, 4 and 8 that covers `rows`, or `most`, 8 or 16. With 16
/// lanes, 8 sums and the 8 vectors of a group's codes fill half of the 32 registers; 16 are a tile
/// of AMX.
constexpr int block_rows(int64_t rows, int most) {
  return rows > 8 ? most : rows > 4 ? 8 : rows > 2 ? 4 : rows == 2 ? 2 : 1;
}

/// Where the parts of one group of 32 columns of a block of rows are, in bytes. The blocks of a
/// matrix are [ceil(M / rows)][columns / 32] groups, so that a kernel walks one pointer. Rows past
/// the last are zeros.
struct ActivationLayout {
  int rows;  ///< of a block

  constexpr int codes(int row) const { return row * kGroup; }  ///< int8 [32]
  /// float32: the group's scale.
  constexpr int scale(int row) const { return rows * kGroup + 4 * row; }
  /// int32, of columns [16 half, 16 half + 16): -zero * sum of codes, which makes a dot product
  /// with codes one with code - zero. Half 0 has the whole group for types without sub-scales
  /// of 16.
  constexpr int correction(int half, int row) const {
    return rows * (kGroup + 4) + 4 * (half * rows + row);
  }
  /// float32, likewise by halves: the sum of codes, exact; times the scale for the types that have
  /// a minimum and no sub-scales.
  constexpr int sum(int half, int row) const {
    return rows * (kGroup + 12) + 4 * (half * rows + row);
  }
  constexpr int bytes() const { return rows * (kGroup + 20); }
};

/// What a weight type wants in its activations beside codes and scales.
struct ActivationTraits {
  int zero;          ///< of the codes as the kernel decodes them
  bool halves;       ///< sums by 16 columns
  bool scaled_sums;  ///< sums times the scale
  int most_rows;     ///< of a block: 8 or 16
};

/// Bytes of scratch for M rows of `columns` columns.
constexpr int64_t activation_bytes(const ActivationTraits& traits, int64_t rows, int64_t columns) {
  const ActivationLayout layout{block_rows(rows, traits.most_rows)};
  return (rows + layout.rows - 1) / layout.rows * (columns / kGroup) * layout.bytes();
}

}  // namespace gumbel::cpu
