// Rows of a weight matrix in the plain arrangement between importers, quantizers and backends.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "program/weight_type.h"

namespace gumbel {

/// Consecutive rows of a weight tensor, every part row-major and unpacked. What an importer reads,
/// a quantizer makes and a backend packs; the reference backend computes on it as it is. Elements
/// follow the formula at WeightTraits.
struct WeightRows {
  WeightType type = WeightType::kF32;
  int64_t rows = 0;
  int64_t columns = 0;
  std::vector<float> floats;         ///< [rows, columns] kF32 only
  std::vector<uint16_t> halves;      ///< [rows, columns] kF16 and kBF16: bit patterns
  std::vector<uint8_t> codes;        ///< [rows, columns] quantized types: one code a byte
  std::vector<float> scale;          ///< [rows, columns / block]
  std::vector<int8_t> sub_scale;     ///< [rows, columns / sub_block], where the type has them
  std::vector<float> minimum;        ///< [rows, columns / block], where the type has one
  std::vector<uint8_t> sub_minimum;  ///< [rows, columns / sub_block], where it has both

  /// Sets type and shape and sizes the parts that the type has; contents are unspecified.
  /// Throws Error(kUnsupported) where `columns` is not a multiple of the type's block.
  void resize(WeightType new_type, int64_t new_rows, int64_t new_columns);
};

/// The value of one element, by the formula at WeightTraits.
float element(const WeightRows& weights, int64_t row, int64_t column);

/// Writes row `row` as float32 to `out` [columns].
void dequantize_row(const WeightRows& weights, int64_t row, std::span<float> out);

/// Writes all rows as float32 to `out` [rows, columns].
void dequantize_rows(const WeightRows& weights, std::span<float> out);

}  // namespace gumbel
