// How the CPU backend arranges the weights of a matrix in memory. docs/cpu-backend.md has pictures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "program/weight_rows.h"
#include "program/weight_type.h"
#include "runtime/backend.h"

namespace gumbel::cpu {

/// Rows of a tile: the widest vector has 16 lanes of 32 bits, and lanes are rows of the matrix.
inline constexpr int kTileRows = 16;
/// Columns that share one activation scale and one integer dot product.
inline constexpr int kGroup = 32;
/// Dot-product steps of a group: each takes 4 columns of all 16 rows, 64 bytes of 8-bit codes.
inline constexpr int kGroupSteps = kGroup / 4;

/// Where things are in a record, the unit of a packed tile: 16 rows by `columns` columns. A tile is
/// its records in ascending order of columns. Offsets are in bytes from the start of the record,
/// which is a multiple of 64; parts that a type lacks have none.
///
/// A quantized record starts with its scales and minima, so that one stream of memory is read:
///   scale, minimum          [columns / block][16] float16 (scale float32 where the type needs it)
///   sub_scale, sub_minimum  [columns / sub_block][16] int8 and uint8
///   codes                   [columns / 32] groups of `code_bytes`
///
/// The codes of a group are planes of 64 bytes; byte 4 r + c is row r, column 4 j + c of step j:
///   4 bits (also types of 2 and 3): plane p < 4 has step p in its low nibbles, p + 4 in its high
///   5 bits: these, then one plane whose bit j is the fifth bit of step j
///   6 bits: these, then two planes whose bits 2 i and 2 i + 1 are the upper two bits of step i in
///           the first and of step i + 4 in the second
///   8 bits: plane j is step j
///
/// A float type's record is one column: [16] elements in the type's own precision.
struct Layout {
  int columns = 1;
  int bits = 0;        ///< stored bits of a code: 4, 5, 6 or 8; of a float: 16 or 32
  int code_bytes = 0;  ///< of one group of 32 columns
  int minimum = 0;     ///< offsets; that of `scale` is 0
  int sub_scale = 0;
  int sub_minimum = 0;
  int codes = 0;
  int bytes = 0;  ///< of a record

  constexpr int groups() const { return columns / kGroup; }
};

/// The layout of `type`. Types whose scales span 32 columns have records of two groups, since one
/// group's 16 float16 scales would leave the next group's codes astride cache lines.
constexpr Layout layout(WeightType type) {
  const WeightTraits& t = traits(type);
  Layout l;
  if (t.is_float()) {
    l.bits = t.element_bits;
    l.bytes = kTileRows * t.element_bits / 8;
    return l;
  }
  l.columns = t.block > 64 ? t.block : 64;
  l.bits = t.element_bits < 4 ? 4 : t.element_bits;
  l.code_bytes = kTileRows * kGroup * l.bits / 8;
  const int blocks = l.columns / t.block;
  const int sub_blocks = l.columns / t.sub_block;
  l.minimum = blocks * kTileRows * (t.f32_scale ? 4 : 2);
  l.sub_scale = l.minimum + (t.has_minimum ? blocks * kTileRows * 2 : 0);
  l.sub_minimum = l.sub_scale + (t.has_sub_scale() ? sub_blocks * kTileRows : 0);
  const int end = l.sub_minimum + (t.has_minimum && t.has_sub_scale() ? sub_blocks * kTileRows : 0);
  l.codes = (end + 63) / 64 * 64;
  l.bytes = l.codes + l.groups() * l.code_bytes;
  return l;
}

/// Bytes of a tile of 16 rows, a multiple of 64. A last record that the columns fill in part is
/// stored whole.
constexpr int64_t tile_bytes(WeightType type, int64_t columns) {
  const Layout l = layout(type);
  const int64_t bytes = (columns + l.columns - 1) / l.columns * l.bytes;
  return (bytes + 63) / 64 * 64;
}

/// Tiles of `rows` rows; the last is filled up with zeros.
constexpr int64_t tile_count(int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }

/// Bytes of `rows` packed rows.
constexpr uint64_t packed_bytes(WeightType type, int64_t rows, int64_t columns) {
  return static_cast<uint64_t>(tile_count(rows) * tile_bytes(type, columns));
}

/// Packs rows into `packed` [packed_bytes(type, rows, columns)].
void pack(const WeightRows& rows, std::span<std::byte> packed);

/// The inverse: rows [first, first + count) of a packed matrix, exactly as they were.
void unpack(const PackedWeight& matrix, int64_t first, int64_t count, WeightRows& rows);

/// Row `row` of a packed matrix as float32, by the formula at WeightTraits, to `out` [columns].
void gather_row(const PackedWeight& matrix, int64_t row, float* out);

}  // namespace gumbel::cpu
