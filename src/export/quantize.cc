#include "export/quantize.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
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
  // Eight sums keep the additions independent of each other, which lets the compiler vectorize.
  std::array<float, 8> errors{};
  for (size_t first = 0; first < kGroup; first += errors.size())
    for (size_t i = 0; i < errors.size(); ++i) {
      const size_t k = first + i;
      float code = (weights[k] + group.minimum) * inverse;
      code = code < low ? low : code;
      code = code > high ? high : code;
      group.codes[k] = round_to_integer(code);
      const float difference = weights[k] - (group.scale * group.codes[k] - group.minimum);
      errors[i] += difference * difference;
    }
  group.error = std::accumulate(errors.begin(), errors.end(), 0.0f);
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

/// Codes [low, high] without a minimum. `divisors` are the codes that the weight of the largest
/// magnitude is tried at; after each of the first `fitted`, the scale is fitted to the codes once.
Group quantize_symmetric(Weights weights, std::span<const float> divisors, size_t fitted, float low,
                         float high) {
  float largest = 0;
  for (const float weight : weights)
    if (std::abs(weight) > std::abs(largest)) largest = weight;
  Group best;
  for (size_t i = 0; i < divisors.size() && best.error > 0; ++i) {
    const Group group = try_candidate(weights, largest / divisors[i], 0, low, high);
    keep_better(best, group);
    if (i < fitted)
      keep_better(best, try_candidate(weights, fit_scale(weights, group), 0, low, high));
  }
  return best;
}

/// Scale and minimum that, with these codes, leave the least squares; nothing changes where all
/// codes are equal.
void fit_scale_and_minimum(Weights weights, const Group& group, float* scale, float* minimum) {
  float codes = 0, squares = 0, sum = 0, products = 0;
  for (size_t k = 0; k < kGroup; ++k) {
    codes += group.codes[k];
    squares += group.codes[k] * group.codes[k];
    sum += weights[k];
    products += weights[k] * group.codes[k];
  }
  const float determinant = kGroup * squares - codes * codes;
  if (determinant == 0) return;
  *scale = (kGroup * products - codes * sum) / determinant;
  *minimum = (codes * *scale - sum) / kGroup;
}

/// Codes [0, 15] above a minimum.
Group quantize_with_minimum(Weights weights) {
  const auto [lowest, highest] = std::minmax_element(weights.begin(), weights.end());
  // Steps that the range is divided into, and how many of them are cut off at its lower end. The
  // first is the plain choice; above 15 the range is cut short at the top, the bottom or both.
  constexpr std::array<std::array<float, 2>, 9> kTries = {{{15, 0},
                                                           {15.5f, 0},
                                                           {15.5f, 0.25f},
                                                           {15.5f, 0.5f},
                                                           {16, 0},
                                                           {16, 0.5f},
                                                           {16.5f, 0.75f},
                                                           {17, 1},
                                                           {18, 1.5f}}};
  Group best;
  for (size_t i = 0; i < kTries.size() && best.error > 0; ++i) {
    const auto [levels, cut] = kTries[i];
    float scale = (*highest - *lowest) / levels;
    float minimum = -(*lowest + cut * scale);
    const Group group = try_candidate(weights, scale, minimum, 0, 15);
    keep_better(best, group);
    fit_scale_and_minimum(weights, group, &scale, &minimum);
    keep_better(best, try_candidate(weights, scale, minimum, 0, 15));
  }
  // What q4_0 would do, so that weights made for q4_0 are kept: codes -8..7 or their mirror image.
  const float scale = std::max(-*lowest, *highest) / 8;
  if (best.error > 0 && scale > 0)
    keep_better(best, try_candidate(weights, scale, (*highest > -*lowest ? 7 : 8) * scale, 0, 15));
  return best;
}

// The code that the largest weight is tried at: the plain choices (-8, 7, 127, -128); ranges cut
// short (at 8.5, it is clipped by half a step and all others are finer); and, for groups of few
// distinct values, each smaller code.
constexpr std::array<float, 14> kFourBitDivisors = {-8,    7, -7.5f, 7.5f, -8.5f, 8, -9,
                                                    -9.5f, 6, 5,     4,    3,     2, 1};
constexpr size_t kFourBitFitted = 8;
constexpr std::array<float, 4> kEightBitDivisors = {127, -128, -127.5f, -128.5f};
constexpr size_t kEightBitFitted = 1;

Group quantize_group(Weights weights, WeightType target) {
  if (target == WeightType::kQ8_0)
    return quantize_symmetric(weights, kEightBitDivisors, kEightBitFitted, -128, 127);
  if (target == WeightType::kQ4_0)
    return quantize_symmetric(weights, kFourBitDivisors, kFourBitFitted, -8, 7);
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
