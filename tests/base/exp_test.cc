#include "base/exp.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace gumbel {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// The distance of two adjacent float32 numbers at `x`, 2^-149 for subnormal ones.
double unit_in_last_place(double x) { return std::ldexp(1.0, std::max(std::ilogb(x), -126) - 23); }

TEST(Exp, IsWithinTwoUnitsInTheLastPlace) {
  double worst = 0;
  float worst_x = 0;
  // Every 211th float of either sign, down to magnitudes where the result is 1.
  for (uint32_t bits = std::bit_cast<uint32_t>(1e-9f); bits < std::bit_cast<uint32_t>(104.0f);
       bits += 211) {
    for (const float x : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
      if (x > 88.722839f) continue;
      const double expected = std::exp(static_cast<double>(x));
      const double error =
          std::abs(static_cast<double>(exp_f32(x)) - expected) / unit_in_last_place(expected);
      if (!(error <= worst)) worst = error, worst_x = x;
    }
  }
  EXPECT_LE(worst, 2.0) << "at " << worst_x;
}

TEST(Exp, LimitsAreExact) {
  EXPECT_EQ(exp_f32(0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-0.0f), 1.0f);
  EXPECT_EQ(exp_f32(-kInfinity), 0.0f);
  EXPECT_EQ(exp_f32(kInfinity), kInfinity);
  EXPECT_EQ(exp_f32(-1e30f), 0.0f);
  EXPECT_EQ(exp_f32(1e30f), kInfinity);
  EXPECT_EQ(exp_f32(89.0f), kInfinity);
  EXPECT_EQ(exp_f32(-104.0f), 0.0f);
  // exp(-103.9) = 7.6e-46 rounds to the least subnormal, 1.4e-45.
  EXPECT_EQ(exp_f32(-103.9f), std::numeric_limits<float>::denorm_min());
  EXPECT_LT(exp_f32(88.72f), kInfinity);
  EXPECT_TRUE(std::isnan(exp_f32(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace gumbel
