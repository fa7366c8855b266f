#include "program/weight_rows.h"

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/float16.h"

namespace gumbel {

void WeightRows::resize(WeightType new_type, int64_t new_rows, int64_t new_columns) {
  const WeightTraits& t = traits(new_type);
  if (new_columns % t.block != 0)
    fail(ErrorCode::kUnsupported, "{} weights: expected a row length that {} divides, got {}",
         t.name, t.block, new_columns);
  type = new_type;
  rows = new_rows;
  columns = new_columns;
  const auto elements = static_cast<size_t>(rows * columns);
  const auto blocks = elements / static_cast<size_t>(t.block);
  const auto sub_blocks = elements / static_cast<size_t>(t.sub_block);
  const bool quantized = !t.is_float();
  floats.resize(type == WeightType::kF32 ? elements : 0);
  halves.resize(type == WeightType::kF16 || type == WeightType::kBF16 ? elements : 0);
  codes.resize(quantized ? elements : 0);
  scale.resize(quantized ? blocks : 0);
  sub_scale.resize(t.has_sub_scale() ? sub_blocks : 0);
  minimum.resize(t.has_minimum ? blocks : 0);
  sub_minimum.resize(t.has_minimum && t.has_sub_scale() ? sub_blocks : 0);
}

float element(const WeightRows& weights, int64_t row, int64_t column) {
  const WeightTraits& t = traits(weights.type);
  const auto i = static_cast<size_t>(row * weights.columns + column);
  if (weights.type == WeightType::kF32) return weights.floats[i];
  if (weights.type == WeightType::kF16) return f16_to_f32(weights.halves[i]);
  if (weights.type == WeightType::kBF16) return bf16_to_f32(weights.halves[i]);
  // Rows are whole numbers of blocks, so the flat index finds the row's own blocks.
  const size_t block = i / static_cast<size_t>(t.block);
  const size_t sub_block = i / static_cast<size_t>(t.sub_block);
  float scale = weights.scale[block];
  if (t.has_sub_scale()) scale = scale * static_cast<float>(weights.sub_scale[sub_block]);
  const float product = scale * static_cast<float>(code_value(t, weights.codes[i]));
  if (!t.has_minimum) return product;
  float minimum = weights.minimum[block];
  if (t.has_sub_scale()) minimum = minimum * static_cast<float>(weights.sub_minimum[sub_block]);
  return product - minimum;
}

void dequantize_row(const WeightRows& weights, int64_t row, std::span<float> out) {
  const WeightTraits& t = traits(weights.type);
  const auto columns = static_cast<size_t>(weights.columns);
  const size_t first = static_cast<size_t>(row) * columns;
  switch (weights.type) {
    case WeightType::kF32:
      std::copy_n(weights.floats.data() + first, columns, out.data());
      return;
    case WeightType::kF16:
      std::transform(weights.halves.data() + first, weights.halves.data() + first + columns,
                     out.data(), f16_to_f32);
      return;
    case WeightType::kBF16:
      std::transform(weights.halves.data() + first, weights.halves.data() + first + columns,
                     out.data(), bf16_to_f32);
      return;
    default:
      break;
  }
  // What the table's codes stand for; the low four bits choose, as in code_value.
  std::array<float, 16> values{};
  for (size_t code = 0; code < values.size(); ++code)
    values[code] = static_cast<float>(code_value(t, static_cast<uint8_t>(code)));
  const bool linear = t.table == CodeTable::kLinear;
  const auto sub_block = static_cast<size_t>(t.sub_block);
  for (size_t column = 0; column < columns; column += sub_block) {
    const size_t block = (first + column) / static_cast<size_t>(t.block);
    float scale = weights.scale[block];
    float minimum = t.has_minimum ? weights.minimum[block] : 0;
    if (t.has_sub_scale()) {
      const size_t sub = (first + column) / sub_block;
      scale = scale * static_cast<float>(weights.sub_scale[sub]);
      if (t.has_minimum) minimum = minimum * static_cast<float>(weights.sub_minimum[sub]);
    }
    const uint8_t* codes = weights.codes.data() + first + column;
    float* to = out.data() + column;
    if (!linear)
      for (size_t k = 0; k < sub_block; ++k) to[k] = scale * values[codes[k] & 15];
    else if (t.has_minimum)
      for (size_t k = 0; k < sub_block; ++k)
        to[k] = scale * static_cast<float>(codes[k] - t.zero) - minimum;
    else
      for (size_t k = 0; k < sub_block; ++k) to[k] = scale * static_cast<float>(codes[k] - t.zero);
  }
}

void dequantize_rows(const WeightRows& weights, std::span<float> out) {
  const auto columns = static_cast<size_t>(weights.columns);
  for (int64_t row = 0; row < weights.rows; ++row)
    dequantize_row(weights, row, out.subspan(static_cast<size_t>(row) * columns, columns));
}

}  // namespace gumbel
