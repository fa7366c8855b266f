#include "base/sincos.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace gumbel {
namespace {

// The C library's functions reduce their argument exactly: an outside answer.
void expect_close(double x) {
  const SinCos result = sincos_f64(x);
  EXPECT_NEAR(result.sin, std::sin(x), 1e-9) << "x = " << x;
  EXPECT_NEAR(result.cos, std::cos(x), 1e-9) << "x = " << x;
}

TEST(SinCos, IsWithinItsBoundUpTo2To31) {
  std::mt19937_64 random(1);
  for (double limit = 0.01; limit <= 0x1p31; limit *= 3.0)
    for (int i = 0; i < 5000; ++i)
      expect_close(std::uniform_real_distribution<double>(0.0, limit)(random));
  expect_close(0x1p31);
}

TEST(SinCos, HoldsAroundMultiplesOfHalfPi) {
  for (int64_t n = 1; n < (int64_t{1} << 30); n = n * 3 + 1) {
    const double x = static_cast<double>(n) * (std::numbers::pi / 2);
    for (const double offset : {-1e-7, 0.0, 1e-7, 0.785398, -0.785399}) expect_close(x + offset);
  }
}

TEST(SinCos, IsExactAtZero) {
  EXPECT_EQ(sincos_f64(0.0).sin, 0.0);
  EXPECT_EQ(sincos_f64(0.0).cos, 1.0);
}

}  // namespace
}  // namespace gumbel
