// Matrix products: docs/numerics.md, "Matrix products".
#include "backends/reference/linear.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "backends/reference/ops.h"
#include "backends/reference/packing.h"

namespace gumbel::reference {
namespace {

constexpr int64_t kGroup = 32;

// One row of activations in 8 bits: codes [K], scales [K / 32].
struct QuantizedRow {
  std::vector<int8_t> codes;
  std::vector<float> scales;
};

void quantize_group(const float* x, int8_t* codes, float* scale) {
  // The bits of |x| order as the values do, with infinities and NaNs above all finite ones.
  uint32_t largest = 0;
  for (int64_t i = 0; i < kGroup; ++i)
    largest = std::max(largest, std::bit_cast<uint32_t>(x[i]) & 0x7FFFFFFFu);
  std::fill_n(codes, kGroup, static_cast<int8_t>(0));
  if (largest >= 0x7F800000u) {
    *scale = std::bit_cast<float>(0x7FC00000u);
    return;
  }
  const float magnitude = std::bit_cast<float>(largest);
  const float inverse = 127.0f / magnitude;
  *scale = 0.0f;
  if (std::isinf(inverse)) return;
  *scale = magnitude / 127.0f;
  for (int64_t i = 0; i < kGroup; ++i)
    codes[i] = static_cast<int8_t>(std::nearbyint(x[i] * inverse));
}

QuantizedRow quantize_activations(const float* x, int64_t columns) {
  QuantizedRow row;
  row.codes.resize(static_cast<size_t>(columns));
  row.scales.resize(static_cast<size_t>(columns / kGroup));
  for (int64_t g = 0; g < columns / kGroup; ++g)
    quantize_group(x + g * kGroup, row.codes.data() + g * kGroup,
                   row.scales.data() + static_cast<size_t>(g));
  return row;
}

// One output element of a quantized type; `weights` holds its one row.
float quantized_dot(const WeightRows& weights, const QuantizedRow& x) {
  const WeightTraits& t = traits(weights.type);
  float acc = 0.0f;
  for (int64_t g = 0; g < weights.columns / kGroup; ++g) {
    int32_t dot = 0;
    int32_t min_dot = 0;
    int32_t activation_sum = 0;
    for (int64_t k = g * kGroup; k < (g + 1) * kGroup; ++k) {
      const auto i = static_cast<size_t>(k);
      const auto sub_block = static_cast<size_t>(k / t.sub_block);
      const int32_t sub_scale = t.has_sub_scale() ? weights.sub_scale[sub_block] : 1;
      dot += sub_scale * code_value(t, weights.codes[i]) * x.codes[i];
      if (t.has_minimum && t.has_sub_scale())
        min_dot += weights.sub_minimum[sub_block] * x.codes[i];
      activation_sum += x.codes[i];
    }
    const auto block = static_cast<size_t>(g * kGroup / t.block);
    const float activation_scale = x.scales[static_cast<size_t>(g)];
    acc = std::fma(static_cast<float>(dot), weights.scale[block] * activation_scale, acc);
    if (!t.has_minimum) continue;
    const float minimum = weights.minimum[block];
    acc = t.has_sub_scale()
              ? std::fma(static_cast<float>(min_dot), -(minimum * activation_scale), acc)
              : std::fma(activation_scale * static_cast<float>(activation_sum), -minimum, acc);
  }
  return acc;
}

float float_dot(const WeightRows& weights, const float* x) {
  float acc = 0.0f;
  for (int64_t k = 0; k < weights.columns; ++k) acc = std::fma(x[k], element(weights, 0, k), acc);
  return acc;
}

}  // namespace

void multiply(const PackedWeight& matrix, const float* x, int64_t rows, float* out) {
  const int64_t columns = matrix.columns;
  const bool quantized = !traits(matrix.type).is_float();
  std::vector<QuantizedRow> activations;
  for (int64_t m = 0; quantized && m < rows; ++m)
    activations.push_back(quantize_activations(x + m * columns, columns));

  const uint64_t bytes = row_bytes(matrix.type, columns);
  WeightRows weights;
  for (int64_t n = 0; n < matrix.rows; ++n) {
    unpack_rows(matrix.data + static_cast<uint64_t>(n) * bytes, matrix.type, 1, columns, weights);
    for (int64_t m = 0; m < rows; ++m)
      out[m * matrix.rows + n] = quantized
                                     ? quantized_dot(weights, activations[static_cast<size_t>(m)])
                                     : float_dot(weights, x + m * columns);
  }
}

void linear(const OpCall& call) {
  const Tensor& x = call.inputs[0];
  const PackedWeight& matrix = call.weights[0];
  multiply(matrix, x.as<float>(), x.elements() / matrix.columns, call.outputs[0].as<float>());
}

}  // namespace gumbel::reference
