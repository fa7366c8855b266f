#include "export/weights/quantize.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/float16.h"
#include "export/weights/quantize_lanes.h"
#include "export/weights/verify_finite.h"

namespace gumbel {
namespace {

constexpr int kGroup = kQuantizeGroup;
constexpr int kLanes = kQuantizeLanes;

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

void verify_scales(const QuantizeBlock& block, int lanes, int64_t group, int64_t columns,
                   int64_t first_row) {
  for (int l = 0; l < lanes; ++l) {
    if (std::isfinite(block.error[l])) continue;
    const int64_t first = (group + l) * kGroup;
    fail(ErrorCode::kInvalidArgument,
         "quantize: weights at row {}, columns {} to {} are too large for a float16 scale",
         first_row + first / columns, first % columns, first % columns + kGroup - 1);
  }
}

}  // namespace

WeightRows quantize(const WeightRows& source, WeightType target, int64_t first_row) {
  if (!traits(source.type).is_float())
    fail(ErrorCode::kUnsupported, "quantize: expected float weights, got {}",
         traits(source.type).name);
  if (target != WeightType::kQ8_0 && target != WeightType::kQ4_0 && target != WeightType::kQ4_1)
    fail(ErrorCode::kUnsupported, "quantize: expected q8_0, q4_0 or q4_1, got {}",
         traits(target).name);
  WeightRows result;
  result.resize(target, source.rows, source.columns);
  verify_finite(source, first_row);
  // Rows are whole numbers of groups, so that all groups can be counted through.
  const int64_t groups = source.rows * source.columns / kGroup;
  static const int vector_lanes = quantize_vector_lanes().front();
  QuantizeBlock block{};
  for (int64_t group = 0; group < groups; group += kLanes) {
    // Lanes that get no group keep the weights of an earlier one or zeros.
    const auto lanes = static_cast<int>(std::min<int64_t>(kLanes, groups - group));
    read_block(source, group, lanes, block);
    quantize_block(target, vector_lanes, block);
    verify_scales(block, lanes, group, source.columns, first_row);
    write_block(block, group, lanes, result);
  }
  return result;
}

}  // namespace gumbel
