#include "export/weights/quantize.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/float16.h"
#include "export/test_files.h"
#include "export/weights/quantize_lanes.h"

namespace gumbel {
namespace {

using test::expect_error;

constexpr WeightType kTargets[] = {WeightType::kQ8_0, WeightType::kQ4_0, WeightType::kQ4_1};

WeightRows float_rows(std::vector<float> values, int64_t columns) {
  WeightRows rows;
  rows.resize(WeightType::kF32, static_cast<int64_t>(values.size()) / columns, columns);
  rows.floats = std::move(values);
  return rows;
}

std::vector<float> dequantize(const WeightRows& rows) {
  std::vector<float> values(static_cast<size_t>(rows.rows * rows.columns));
  for (int64_t row = 0; row < rows.rows; ++row)
    dequantize_row(rows, row,
                   std::span(values).subspan(static_cast<size_t>(row * rows.columns),
                                             static_cast<size_t>(rows.columns)));
  return values;
}

/// Sums of uniform variables: near enough to the normal distribution, and the same everywhere.
std::vector<float> bell_shaped(size_t count, float size) {
  uint64_t state = 12345;
  std::vector<float> values(count);
  for (float& value : values) {
    float sum = 0;
    for (int i = 0; i < 12; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      sum += static_cast<float>(state >> 40) * 0x1p-24f;
    }
    value = (sum - 6) * size;
  }
  return values;
}

/// The sum of squared errors that the plain choice is sure not to exceed, from the group's range:
/// half a step each, the step being range / levels rounded to float16, and what rounding scale and
/// minimum moves the farthest weight.
double plain_bound(std::span<const float> group, WeightType type) {
  const auto [low, high] = std::minmax_element(group.begin(), group.end());
  const double largest = std::max(std::abs(*low), std::abs(*high));
  const double range = type == WeightType::kQ4_1 ? *high - *low : largest;
  const double levels = type == WeightType::kQ4_1 ? 15 : type == WeightType::kQ4_0 ? 7 : 127;
  // float16 rounds by at most 2^-11 of the value, or 2^-25 where it is subnormal.
  const double step = range / levels * (1 + 0x1p-11) + 0x1p-25;
  const double moved = range * 0x1p-11 + levels * 0x1p-25 +
                       (type == WeightType::kQ4_1 ? largest * 0x1p-11 + 0x1p-25 : 0);
  const double each = step / 2 + moved;
  return 32 * each * each * (1 + 1e-5);
}

TEST(Quantize, ErrorsStayBelowThePlainChoicesBound) {
  for (const float size : {1e-9f, 1e-6f, 1e-3f, 0.02f, 1.0f, 300.0f}) {
    std::vector<float> values = bell_shaped(64 * 96, size);
    for (size_t i = 0; i < values.size() / 3; ++i) values[i] = std::abs(values[i]) + size;
    for (const WeightType type : kTargets) {
      SCOPED_TRACE(std::string(traits(type).name) + " of size " + std::to_string(size));
      const WeightRows rows = quantize(float_rows(values, 96), type);
      EXPECT_EQ(rows.type, type);
      const std::vector<float> result = dequantize(rows);
      for (size_t group = 0; group < values.size(); group += 32) {
        double error = 0;
        for (size_t i = group; i < group + 32; ++i)
          error += std::pow(static_cast<double>(result[i]) - values[i], 2);
        EXPECT_LE(error, plain_bound(std::span(values).subspan(group, 32), type)) << group;
      }
    }
  }
}

TEST(Quantize, ScalesAreFloat16AndCodesInRange) {
  for (const WeightType type : kTargets) {
    const WeightRows rows = quantize(float_rows(bell_shaped(64 * 96, 0.3f), 96), type);
    for (const float scale : rows.scale) EXPECT_EQ(scale, f16_to_f32(f32_to_f16(scale)));
    for (const float minimum : rows.minimum) EXPECT_EQ(minimum, f16_to_f32(f32_to_f16(minimum)));
    int largest = 0;
    for (const uint8_t code : rows.codes) largest = std::max<int>(largest, code);
    EXPECT_LT(largest, 1 << traits(type).element_bits);
  }
}

TEST(Quantize, CodesAreTheNearestOnes) {
  for (const WeightType type : kTargets) {
    const std::vector<float> values = bell_shaped(32 * 64, 0.7f);
    const WeightRows rows = quantize(float_rows(values, 64), type);
    const int codes = 1 << traits(type).element_bits;
    for (size_t i = 0; i < values.size(); ++i) {
      const float scale = rows.scale[i / 32];
      const float minimum = rows.minimum.empty() ? 0 : rows.minimum[i / 32];
      const auto distance = [&](int code) {
        return std::abs(values[i] -
                        (scale * static_cast<float>(code - traits(type).zero) - minimum));
      };
      // A tie may go either way; 1e-6 is above the rounding of these values near 1.
      if (rows.codes[i] > 0) {
        EXPECT_LE(distance(rows.codes[i]), distance(rows.codes[i] - 1) + 1e-6f);
      }
      if (rows.codes[i] + 1 < codes) {
        EXPECT_LE(distance(rows.codes[i]), distance(rows.codes[i] + 1) + 1e-6f);
      }
    }
  }
}

TEST(Quantize, RepresentableWeightsAreKeptExactly) {
  const float scales[] = {0.0123291015625f, 1.0f, 3.0f, 0x1p-14f, -0.75f};
  for (const float scale : scales) {
    ASSERT_EQ(scale, f16_to_f32(f32_to_f16(scale)));
    for (int largest = 1; largest <= 8; ++largest) {
      // Codes -largest and up; 8 is reached on the negative side alone.
      std::vector<float> values(32);
      for (int k = 0; k < 32; ++k)
        values[static_cast<size_t>(k)] =
            scale * static_cast<float>(std::min(k % (2 * largest + 1) - largest, 7));
      EXPECT_EQ(dequantize(quantize(float_rows(values, 32), WeightType::kQ4_0)), values)
          << scale << " " << largest;
    }
    for (const int lowest : {-127, -128}) {
      std::vector<float> values(32);
      for (int k = 0; k < 32; ++k)
        values[static_cast<size_t>(k)] = scale * static_cast<float>(k == 9 ? lowest : 7 * k - 100);
      EXPECT_EQ(dequantize(quantize(float_rows(values, 32), WeightType::kQ8_0)), values)
          << scale << " " << lowest;
    }
    // Codes 0..15 above a minimum, and q4_0's own groups, whose code -8 stands on either side.
    for (const float minimum : {5 * scale, 8 * scale, -3 * scale, 0.0f}) {
      std::vector<float> values(32);
      for (int k = 0; k < 32; ++k)
        values[static_cast<size_t>(k)] = std::abs(scale) * static_cast<float>(k * 7 % 16) - minimum;
      EXPECT_EQ(dequantize(quantize(float_rows(values, 32), WeightType::kQ4_1)), values)
          << scale << " " << minimum;
    }
    std::vector<float> values(32);
    for (int k = 0; k < 32; ++k)
      values[static_cast<size_t>(k)] = scale * static_cast<float>(k % 11 - 8);
    EXPECT_EQ(dequantize(quantize(float_rows(values, 32), WeightType::kQ4_1)), values) << scale;
  }
}

TEST(Quantize, BothHalfFormatsAreRead) {
  WeightRows source;
  source.resize(WeightType::kBF16, 1, 32);
  for (size_t k = 0; k < 32; ++k) source.halves[k] = f32_to_bf16(static_cast<float>(k) - 16);
  std::vector<float> expected(32);
  dequantize_row(source, 0, expected);
  EXPECT_EQ(dequantize(quantize(source, WeightType::kQ8_0))[0], -16.0f);
  source.resize(WeightType::kF16, 1, 32);
  for (size_t k = 0; k < 32; ++k) source.halves[k] = f32_to_f16(static_cast<float>(k) - 16);
  EXPECT_EQ(dequantize(quantize(source, WeightType::kQ8_0))[0], -16.0f);
}

TEST(Quantize, ZerosStayZeros) {
  for (const WeightType type : kTargets)
    for (const float value : dequantize(quantize(float_rows(std::vector<float>(64), 32), type)))
      EXPECT_EQ(value, 0.0f);
}

TEST(Quantize, GroupsAreIndependent) {
  const std::vector<float> values = bell_shaped(96, 1);
  for (const WeightType type : kTargets) {
    const WeightRows all = quantize(float_rows(values, 96), type);
    for (size_t group = 0; group < 3; ++group) {
      const std::vector<float> part(values.begin() + static_cast<long>(group * 32),
                                    values.begin() + static_cast<long>(group * 32 + 32));
      const WeightRows one = quantize(float_rows(part, 32), type);
      EXPECT_EQ(one.scale[0], all.scale[group]);
      EXPECT_TRUE(std::equal(one.codes.begin(), one.codes.end(),
                             all.codes.begin() + static_cast<long>(group * 32)));
    }
  }
}

// What kFourBitType rests on. For normally distributed weights the measured ratio of mean squares
// is printed by a failure; it must be well below one for the minimum to be worth its half bit.
TEST(Quantize, AMinimumLowersTheError) {
  const std::vector<float> values = bell_shaped(32 * 2048, 1);
  const auto error = [&](WeightType type) {
    const std::vector<float> result = dequantize(quantize(float_rows(values, 2048), type));
    double sum = 0;
    for (size_t i = 0; i < values.size(); ++i)
      sum += std::pow(static_cast<double>(result[i]) - values[i], 2);
    return sum / static_cast<double>(values.size());
  };
  const double q4_0 = error(WeightType::kQ4_0), q4_1 = error(WeightType::kQ4_1);
  EXPECT_LT(q4_1, 0.85 * q4_0) << q4_1 << " against " << q4_0;
  EXPECT_LT(error(WeightType::kQ8_0), 0.01 * q4_1);
}

TEST(Quantize, WeightsThatNoScaleHoldsAreRefused) {
  for (const WeightType type : kTargets) {
    SCOPED_TRACE(traits(type).name);
    for (const float wrong :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(),
          -std::numeric_limits<float>::infinity()}) {
      std::vector<float> values(128);
      values[64 + 33] = wrong;
      expect_error(ErrorCode::kInvalidArgument, "at row 1, column 33",
                   [&] { quantize(float_rows(values, 64), type); });
    }
    for (const float huge : {1e7f, -1e30f, std::numeric_limits<float>::max()}) {
      std::vector<float> values(64);
      values[40] = huge;
      expect_error(ErrorCode::kInvalidArgument, "row 0, columns 32 to 63 are too large",
                   [&] { quantize(float_rows(values, 64), type); });
    }
  }
  // The largest that a scale reaches.
  std::vector<float> values(32);
  values[3] = 65504.0f * 127;
  EXPECT_EQ(dequantize(quantize(float_rows(values, 32), WeightType::kQ8_0)), values);
}

// Groups of many sizes, some exact, some of equal weights, some too large for any scale.
TEST(Quantize, AllVectorWidthsGiveTheSameBits) {
  const std::vector<int> widths = quantize_vector_lanes();
  ASSERT_EQ(widths.back(), 4);
  EXPECT_TRUE(std::is_sorted(widths.rbegin(), widths.rend()));
  const std::vector<float> values = bell_shaped(kQuantizeLanes * kQuantizeGroup, 1);
  for (const float size : {0.0f, 1e-8f, 1e-5f, 0.02f, 1.0f, 3e4f, 1e6f, 1e25f})
    for (const WeightType type : kTargets) {
      QuantizeBlock source{};
      for (int k = 0; k < kQuantizeGroup; ++k)
        for (int l = 0; l < kQuantizeLanes; ++l) {
          const float value = values[static_cast<size_t>(l * kQuantizeGroup + k)];
          source.weights[k][l] = size * (l == 3   ? 1.0f
                                         : l == 5 ? static_cast<float>(k / 4)
                                                  : value);
        }
      QuantizeBlock expected = source;
      quantize_block(type, 4, expected);
      for (const int width : widths) {
        QuantizeBlock found = source;
        quantize_block(type, width, found);
        EXPECT_EQ(std::memcmp(&found, &expected, sizeof(found)), 0)
            << traits(type).name << " of size " << size << " in vectors of " << width;
      }
      EXPECT_EQ(std::isfinite(expected.error[0]),
                size < 1e6f || (type == WeightType::kQ8_0 && size == 1e6f));
    }
}

TEST(Quantize, OtherTypesAndShapesAreRefused) {
  const WeightRows source = float_rows(std::vector<float>(64), 32);
  expect_error(ErrorCode::kUnsupported, "expected q8_0, q4_0 or q4_1, got q6_k",
               [&] { quantize(source, WeightType::kQ6_K); });
  const WeightRows quantized = quantize(source, WeightType::kQ8_0);
  expect_error(ErrorCode::kUnsupported, "expected float weights, got q8_0",
               [&] { quantize(quantized, WeightType::kQ4_0); });
  expect_error(ErrorCode::kUnsupported, "expected a row length that 32 divides, got 16",
               [] { quantize(float_rows(std::vector<float>(64), 16), WeightType::kQ8_0); });
}

}  // namespace
}  // namespace gumbel
