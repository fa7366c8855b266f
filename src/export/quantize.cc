#include "export/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "base/error.h"
#include "base/float16.h"

namespace gumbel {
namespace {

constexpr int kGroup = 32;
using Weights = std::span<const float, kGroup>;

/// A quantized group. Its value of element k is scale * codes[k] - minimum, codes being integers
/// before the type's zero is added.
struct Group {
  float scale = 0;
  float minimum = 0;
  std::array<float, kGroup> codes{};
  float error = std::numeric_limits<float>::infinity();  ///< sum of squares
};

float round_to_f16(float value) { return f16_to_f32(f32_to_f16(value)); }

/// Rounds to the nearest integer, ties to even; |value| < 2^22. Adding 1.5 * 2^23 leaves no bits
/// below the integer.
float round_to_integer(float value) { return (value + 0x1.8p23f) - 0x1.8p23f; }

/// The group with this scale and minimum, both rounded to float16, and the nearest codes.
Group try_candidate(Weights weights, float scale, float minimum, float low, float high) {
  Group group;
  group.scale = round_to_f16(scale);
  group.minimum = round_to_f16(minimum);
  if (!std::isfinite(group.scale) || !std::isfinite(group.minimum)) return group;
  const float inverse = group.scale == 0 ? 0 : 1 / group.scale;
  float error = 0;
  for (size_t k = 0; k < kGroup; ++k) {
    const float code = (weights[k] + group.minimum) * inverse;
    group.codes[k] = round_to_integer(std::clamp(code, low, high));
    const float difference = weights[k] - (group.scale * group.codes[k] - group.minimum);
    error += difference * difference;
  }
  group.error = error;
  return group;
}

/// The scale that, with these codes, leaves the least squares.
float fit_scale(Weights weights, const Group& group) {
  float products = 0, squares = 0;
  for (size_t k = 0; k < kGroup; ++k) {
    products += weights[k] * group.codes[k];
    squares += group.codes[k] * group.codes[k];
  }
  return squares == 0 ? group.scale : products / squares;
}

void keep_better(Group& best, const Group& candidate) {
  if (candidate.error < best.error) best = candidate;
}

/// Symmetric codes [low, high] with low = -high - 1. `divisors` are the codes that the weight of
/// the largest magnitude is tried at; after each, the scale is fitted to the codes once.
Group quantize_symmetric(Weights weights, std::span<const float> divisors, float low, float high) {
  float largest = 0;
  for (const float weight : weights)
    if (std::abs(weight) > std::abs(largest)) largest = weight;
  Group best;
  for (const float divisor : divisors) {
    const Group group = try_candidate(weights, largest / divisor, 0, low, high);
    keep_better(best, group);
    keep_better(best, try_candidate(weights, fit_scale(weights, group), 0, low, high));
  }
  return best;
}

/// Codes [0, 15] above a minimum: the range's ends at codes 0 and `levels`, then scale and minimum
/// fitted to the codes by least squares once.
Group quantize_with_minimum(Weights weights) {
  const auto [low, high] = std::minmax_element(weights.begin(), weights.end());
  // First the codes 0..15 over the range, then ranges cut short at the top, at the bottom (the
  // shift, in codes) or at both, and those that use fewer codes, where values are few.
  constexpr std::array<std::array<float, 2>, 22> kTries = {
      {{15, 0},    {15.5f, 0},     {16, 0},       {16, 0.5f}, {16.5f, 0.75f}, {17, 1},
       {18, 1.5f}, {15.5f, 0.25f}, {15.5f, 0.5f}, {1, 0},     {2, 0},         {3, 0},
       {4, 0},     {5, 0},         {6, 0},        {7, 0},     {8, 0},         {9, 0},
       {10, 0},    {11, 0},        {12, 0},       {13, 0}}};
  Group best;
  for (const auto& [levels, shift] : kTries) {
    const float scale = (*high - *low) / levels;
    const Group group = try_candidate(weights, scale, -(*low + shift * scale), 0, 15);
    keep_better(best, group);
    if (levels < 15) continue;
    float codes = 0, squares = 0, sum = 0, products = 0;
    for (size_t k = 0; k < kGroup; ++k) {
      codes += group.codes[k];
      squares += group.codes[k] * group.codes[k];
      sum += weights[k];
      products += weights[k] * group.codes[k];
    }
    const float determinant = kGroup * squares - codes * codes;
    if (determinant == 0) continue;
    const float fitted = (kGroup * products - codes * sum) / determinant;
    const float offset = (sum - fitted * codes) / kGroup;
    keep_better(best, try_candidate(weights, fitted, -offset, 0, 15));
  }
  return best;
}

// The plain choices (-8, 127), the codes that groups of few distinct values need, and ranges cut
// short: at 8.5, say, the largest weight is clipped by half a step and all others are finer.
constexpr std::array<float, 14> kFourBitDivisors = {-8, 7,    6,     5,     4,  3,     2,
                                                    1,  7.5f, -7.5f, -8.5f, -9, -9.5f, 8};
constexpr std::array<float, 4> kEightBitDivisors = {127, -128, -127.5f, -128.5f};

Group quantize_group(Weights weights, WeightType target) {
  if (target == WeightType::kQ8_0) return quantize_symmetric(weights, kEightBitDivisors, -128, 127);
  if (target == WeightType::kQ4_0) return quantize_symmetric(weights, kFourBitDivisors, -8, 7);
  return quantize_with_minimum(weights);
}

}  // namespace

WeightRows quantize(const WeightRows& source, WeightType target) {
  if (!traits(source.type).is_float())
    fail(ErrorCode::kUnsupported, "quantize: expected float weights, got {}",
         traits(source.type).name);
  if (target != WeightType::kQ8_0 && target != WeightType::kQ4_0 && target != WeightType::kQ4_1)
    fail(ErrorCode::kUnsupported, "quantize: expected q8_0, q4_0 or q4_1, got {}",
         traits(target).name);
  WeightRows result;
  result.resize(target, source.rows, source.columns);
  const auto zero = static_cast<float>(traits(target).zero);
  std::vector<float> row_weights(static_cast<size_t>(source.columns));
  for (int64_t row = 0; row < source.rows; ++row) {
    dequantize_row(source, row, row_weights);
    for (int64_t first = 0; first < source.columns; first += kGroup) {
      const Weights weights(row_weights.data() + first, kGroup);
      for (int64_t k = 0; k < kGroup; ++k)
        if (!std::isfinite(weights[static_cast<size_t>(k)]))
          fail(ErrorCode::kInvalidArgument,
               "quantize: expected finite weights, got {} at row {}, column {}",
               weights[static_cast<size_t>(k)], row, first + k);
      const Group group = quantize_group(weights, target);
      if (!std::isfinite(group.error))
        fail(ErrorCode::kInvalidArgument,
             "quantize: weights at row {}, columns {} to {} are too large for a float16 scale", row,
             first, first + kGroup - 1);
      const auto start = static_cast<size_t>(row * source.columns + first);
      result.scale[start / kGroup] = group.scale;
      if (traits(target).has_minimum) result.minimum[start / kGroup] = group.minimum;
      for (size_t k = 0; k < kGroup; ++k)
        result.codes[start + k] = static_cast<uint8_t>(group.codes[k] + zero);
    }
  }
  return result;
}

}  // namespace gumbel
