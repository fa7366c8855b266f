#include "export/weights/verify_finite.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/error.h"

namespace gumbel {
namespace {

/// Whether one of `values`, masked, is not below `limit`. Without an early end, so that the
/// compiler vectorizes it.
template <typename T>
bool any_from(const std::vector<T>& values, T mask, T limit) {
  T largest = 0;
  for (const T value : values) largest = std::max(largest, static_cast<T>(value & mask));
  return largest >= limit;
}

/// Whether one of `values` times `factor` is not finite.
bool any_not_finite(const std::vector<float>& values, float factor) {
  // 0 * x is NaN where x is not finite, and stays so in a sum.
  float sums[16] = {};
  for (size_t i = 0; i < values.size(); ++i) sums[i % 16] += 0 * (values[i] * factor);
  return std::any_of(std::begin(sums), std::end(sums), [](float sum) { return sum != 0; });
}

bool may_have_others(const WeightRows& rows) {
  switch (rows.type) {
    case WeightType::kF32:
      return any_not_finite(rows.floats, 1);
    case WeightType::kF16:
      return any_from<uint16_t>(rows.halves, 0x7FFF, 0x7C00);
    case WeightType::kBF16:
      return any_from<uint16_t>(rows.halves, 0x7FFF, 0x7F80);
    default:
      // Float16 scales times codes and sub-scales of 8 bits stay far below the largest float; a
      // float32 scale (mxfp4) meets values up to 12.
      return any_not_finite(rows.scale, traits(rows.type).f32_scale ? 12.0f : 1.0f) ||
             any_not_finite(rows.minimum, 1);
  }
}

}  // namespace

void verify_finite(const WeightRows& rows, int64_t first_row) {
  if (!may_have_others(rows)) return;
  std::vector<float> row_weights(static_cast<size_t>(rows.columns));
  for (int64_t row = 0; row < rows.rows; ++row) {
    dequantize_row(rows, row, row_weights);
    for (size_t column = 0; column < row_weights.size(); ++column)
      if (!std::isfinite(row_weights[column]))
        fail(ErrorCode::kInvalidArgument, "expected finite weights, got {} at row {}, column {}",
             row_weights[column], first_row + row, column);
  }
}

}  // namespace gumbel
