#include "export/quantize.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/float16.h"
#include "export/quantize_lanes.h"

namespace gumbel {
namespace {

constexpr int kGroup = kQuantizeGroup;
constexpr int kLanes = kQuantizeLanes;

/// Where a group begins.
struct Place {
  int64_t row;
  int64_t column;
};

/// Rows are whole numbers of groups, so all groups of `rows` can be counted through.
Place place(const WeightRows& rows, int64_t group) {
  return {group * kGroup / rows.columns, group * kGroup % rows.columns};
}

template <typename T, typename Convert>
void gather(const T* source, int lanes, QuantizeBlock& block, const Convert& convert) {
  for (int l = 0; l < lanes; ++l)
    for (int k = 0; k < kGroup; ++k) block.weights[k][l] = convert(source[l * kGroup + k]);
}

/// Puts `lanes` groups from `group` on into the lanes of `block`.
void read_block(const WeightRows& source, int64_t group, int lanes, QuantizeBlock& block) {
  const auto first = static_cast<size_t>(group * kGroup);
  if (source.type == WeightType::kF32)
    gather(source.floats.data() + first, lanes, block, [](float value) { return value; });
  else if (source.type == WeightType::kF16)
    gather(source.halves.data() + first, lanes, block, f16_to_f32);
  else
    gather(source.halves.data() + first, lanes, block, bf16_to_f32);
}

void write_block(const QuantizeBlock& block, int64_t group, int lanes, WeightRows& result) {
  const WeightTraits& t = traits(result.type);
  for (int l = 0; l < lanes; ++l) {
    const auto g = static_cast<size_t>(group + l);
    result.scale[g] = block.scale[l];
    if (t.has_minimum) result.minimum[g] = block.minimum[l];
    uint8_t* codes = result.codes.data() + g * kGroup;
    for (int k = 0; k < kGroup; ++k)
      codes[k] = static_cast<uint8_t>(static_cast<int>(block.codes[k][l]) + t.zero);
  }
}

void verify_finite(const QuantizeBlock& block, const WeightRows& source, int64_t group, int lanes) {
  float zero[kLanes] = {};
  for (int k = 0; k < kGroup; ++k)
    for (int l = 0; l < kLanes; ++l) zero[l] += 0 * block.weights[k][l];  // NaN where not finite
  if (std::all_of(zero, zero + kLanes, [](float z) { return z == 0; })) return;
  for (int l = 0; l < lanes; ++l)
    for (int k = 0; k < kGroup; ++k) {
      if (std::isfinite(block.weights[k][l])) continue;
      const Place at = place(source, group + l);
      fail(ErrorCode::kInvalidArgument,
           "quantize: expected finite weights, got {} at row {}, column {}", block.weights[k][l],
           at.row, at.column + k);
    }
}

void verify_scales(const QuantizeBlock& block, const WeightRows& source, int64_t group, int lanes) {
  for (int l = 0; l < lanes; ++l) {
    if (std::isfinite(block.error[l])) continue;
    const Place at = place(source, group + l);
    fail(ErrorCode::kInvalidArgument,
         "quantize: weights at row {}, columns {} to {} are too large for a float16 scale", at.row,
         at.column, at.column + kGroup - 1);
  }
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
  const int64_t groups = source.rows * source.columns / kGroup;
  static const int vector_lanes = quantize_vector_lanes().front();
  QuantizeBlock block{};
  for (int64_t group = 0; group < groups; group += kLanes) {
    // Lanes that get no group keep the weights of an earlier one or zeros.
    const auto lanes = static_cast<int>(std::min<int64_t>(kLanes, groups - group));
    read_block(source, group, lanes, block);
    verify_finite(block, source, group, lanes);
    quantize_block(target, vector_lanes, block);
    verify_scales(block, source, group, lanes);
    write_block(block, group, lanes, result);
  }
  return result;
}

}  // namespace gumbel
