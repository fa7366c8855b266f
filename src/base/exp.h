// The exponential function as a fixed sequence of float32 operations.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace gumbel {

/// Constants of exp, shared by the scalar function below and by vector kernels.
struct ExpConstants {
  // Outside [kLowest, kHighest] the result is 0 or infinity; clamping keeps n within an int8.
  static constexpr float kLowest = -104.0f;
  static constexpr float kHighest = 89.0f;
  static constexpr float kLog2E = 0x1.715476p+0f;
  // ln 2 in two parts (Cody and Waite 1980): the high one has 15 significant bits, so n times it,
  // |n| <= 151, is exact even without the fused operation.
  static constexpr float kLn2High = 0x1.62e4p-1f;
  static constexpr float kLn2Low = 0x1.7f7d1cp-20f;
  // Coefficients of r^2 to r^7 of exp(r) on |r| <= ln(2) / 2: Taylor's, whose next term is at most
  // 0.3466^8 / 40320 = 5.2e-9, a tenth of a unit in the last place of results in [0.7, 1].
  static constexpr float kC2 = 0.5f;
  static constexpr float kC3 = 0x1.555556p-3f;
  static constexpr float kC4 = 0x1.555556p-5f;
  static constexpr float kC5 = 0x1.111112p-7f;
  static constexpr float kC6 = 0x1.6c16c2p-10f;
  static constexpr float kC7 = 0x1.a01a02p-13f;
};

/// 2^n as a float32, -126 <= n <= 127.
constexpr float power_of_two(int32_t n) {
  return std::bit_cast<float>(static_cast<uint32_t>(n + 127) << 23);
}

/// e^x within two units in the last place; exactly 1 at 0, NaN for NaN.
inline float exp_f32(float x) {
  using C = ExpConstants;
  if (x != x) return x;
  x = x < C::kLowest ? C::kLowest : x > C::kHighest ? C::kHighest : x;
  const float n = std::nearbyint(x * C::kLog2E);
  float r = std::fma(n, -C::kLn2High, x);
  r = std::fma(n, -C::kLn2Low, r);
  float p = std::fma(C::kC7, r, C::kC6);
  p = std::fma(p, r, C::kC5);
  p = std::fma(p, r, C::kC4);
  p = std::fma(p, r, C::kC3);
  p = std::fma(p, r, C::kC2);
  p = std::fma(p, r, 1.0f);
  p = std::fma(p, r, 1.0f);
  // n is in [-150, 128]: each half is a normal power of two.
  const auto i = static_cast<int32_t>(n);
  const int32_t half = i >> 1;
  return (p * power_of_two(half)) * power_of_two(i - half);
}

}  // namespace gumbel
