#include "base/tanh.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "base/softplus.h"

namespace gumbel {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double unit_in_last_place(double x) { return std::ldexp(1.0, std::max(std::ilogb(x), -126) - 23); }

// The largest error in units in the last place over every 211th float of either sign from
// `smallest` to `largest` in magnitude.
template <typename Function, typename Exact>
double worst_error(const Function& function, const Exact& exact, float smallest, float largest) {
  double worst = 0;
  for (uint32_t bits = std::bit_cast<uint32_t>(smallest); bits < std::bit_cast<uint32_t>(largest);
       bits += 211)
    for (const float x : {std::bit_cast<float>(bits), -std::bit_cast<float>(bits)}) {
      const double expected = exact(static_cast<double>(x));
      const double error =
          std::abs(static_cast<double>(function(x)) - expected) / unit_in_last_place(expected);
      if (!(error <= worst)) worst = error;
    }
  return worst;
}

TEST(Tanh, IsWithinTwoUnitsInTheLastPlace) {
  EXPECT_LE(worst_error(tanh_f32, [](double x) { return std::tanh(x); }, 1e-30f, 100.0f), 2.0);
}

TEST(Tanh, LimitsAreExact) {
  EXPECT_EQ(tanh_f32(0.0f), 0.0f);
  EXPECT_EQ(tanh_f32(-0.0f), 0.0f);
  EXPECT_EQ(tanh_f32(kInfinity), 1.0f);
  EXPECT_EQ(tanh_f32(-kInfinity), -1.0f);
  EXPECT_EQ(tanh_f32(1e30f), 1.0f);
  EXPECT_TRUE(std::isnan(tanh_f32(std::numeric_limits<float>::quiet_NaN())));
}

TEST(Softplus, IsWithinFourUnitsInTheLastPlace) {
  // Below -87 results are subnormal.
  EXPECT_LE(worst_error(
                softplus_f32, [](double x) { return std::log1p(std::exp(x)); }, 1e-9f, 87.0f),
            4.0);
}

TEST(Softplus, LimitsAreExact) {
  EXPECT_EQ(softplus_f32(kInfinity), kInfinity);
  EXPECT_EQ(softplus_f32(-kInfinity), 0.0f);
  EXPECT_EQ(softplus_f32(1000.0f), 1000.0f);
  EXPECT_TRUE(std::isnan(softplus_f32(std::numeric_limits<float>::quiet_NaN())));
}

}  // namespace
}  // namespace gumbel
