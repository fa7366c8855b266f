#include "base/float16.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace gumbel {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The value of a pattern by its definition (IEEE 754-2019, 3.4), in double arithmetic.
double value(uint32_t bits, int exponent_bits, int mantissa_bits) {
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const auto exponent = static_cast<int>((bits >> mantissa_bits) & ((1u << exponent_bits) - 1));
  const double fraction =
      std::ldexp(static_cast<double>(bits & ((1u << mantissa_bits) - 1)), -mantissa_bits);
  const double sign = bits >> (exponent_bits + mantissa_bits) != 0 ? -1.0 : 1.0;
  if (exponent == (1 << exponent_bits) - 1) return fraction != 0 ? NAN : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias);
  return sign * std::ldexp(1.0 + fraction, exponent - bias);
}

struct Format {
  int exponent_bits;
  int mantissa_bits;
  float (*widen)(uint16_t);
  uint16_t (*narrow)(float);

  uint16_t infinity() const {
    return static_cast<uint16_t>(((1u << exponent_bits) - 1) << mantissa_bits);
  }
};

class SixteenBits : public testing::TestWithParam<Format> {};

TEST_P(SixteenBits, EveryPatternWidensExactlyAndComesBack) {
  const Format& format = GetParam();
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = format.widen(static_cast<uint16_t>(bits));
    const double expected = value(bits, format.exponent_bits, format.mantissa_bits);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(x)) << bits;
      ASSERT_EQ(std::signbit(x), bits >= 0x8000) << bits;
      ASSERT_TRUE(std::isnan(format.widen(format.narrow(x)))) << bits;
      continue;
    }
    ASSERT_EQ(static_cast<double>(x), expected) << bits;
    ASSERT_EQ(std::signbit(x), std::signbit(expected)) << bits;
    ASSERT_EQ(format.narrow(x), bits);
  }
}

TEST_P(SixteenBits, RoundsToNearestTiesToEvenBetweenAllNeighbours) {
  const Format& format = GetParam();
  for (uint16_t low = 0; low < format.infinity(); ++low) {
    const auto high = static_cast<uint16_t>(low + 1);
    // Infinity stands where the next power of two would: it rounds as if it were that number.
    const double above = high == format.infinity()
                             ? std::ldexp(1.0, 1 << (format.exponent_bits - 1))
                             : value(high, format.exponent_bits, format.mantissa_bits);
    const double below = value(low, format.exponent_bits, format.mantissa_bits);
    const auto middle = static_cast<float>((below + above) / 2);
    ASSERT_EQ(static_cast<double>(middle), (below + above) / 2);  // exact in float32
    const uint16_t even = low % 2 == 0 ? low : high;
    ASSERT_EQ(format.narrow(middle), even) << low;
    ASSERT_EQ(format.narrow(std::nextafter(middle, 0.0f)), low) << low;
    ASSERT_EQ(format.narrow(std::nextafter(middle, kInfinity)), high) << low;
    ASSERT_EQ(format.narrow(-middle), even | 0x8000) << low;
    ASSERT_EQ(format.narrow(-std::nextafter(middle, 0.0f)), low | 0x8000) << low;
    ASSERT_EQ(format.narrow(-std::nextafter(middle, kInfinity)), high | 0x8000) << low;
  }
}

TEST_P(SixteenBits, OverflowAndTinyNumbers) {
  const Format& format = GetParam();
  EXPECT_EQ(format.narrow(std::numeric_limits<float>::max()), format.infinity());
  EXPECT_EQ(format.narrow(-std::numeric_limits<float>::max()), format.infinity() | 0x8000);
  EXPECT_EQ(format.narrow(kInfinity), format.infinity());
  EXPECT_EQ(format.narrow(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(format.narrow(-std::numeric_limits<float>::denorm_min()), 0x8000);
  for (const uint32_t bits : {0x7F800001u, 0x7FC00000u, 0x7FFFFFFFu, 0xFF800001u, 0xFFFFFFFFu}) {
    const float nan = std::bit_cast<float>(bits);
    EXPECT_TRUE(std::isnan(format.widen(format.narrow(nan)))) << bits;
    EXPECT_EQ(format.narrow(nan) >> 15, bits >> 31) << bits;
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, SixteenBits,
                         testing::Values(Format{5, 10, f16_to_f32, f32_to_f16},
                                         Format{8, 7, bf16_to_f32, f32_to_bf16}),
                         [](const auto& format) {
                           return format.param.exponent_bits == 5 ? "Float16" : "BFloat16";
                         });

}  // namespace
}  // namespace gumbel
