// Sine and cosine as a fixed sequence of float64 operations, for rotary position embeddings.
#pragma once

#include <cmath>
#include <cstdint>

namespace gumbel {

struct SinCos {
  double sin;
  double cos;
};

/// Sine and cosine of x radians, 0 <= x <= 2^31, within 1e-9: more than a float32 result can show.
/// Reduction by pi/2 in three parts (Cody and Waite 1980), then Taylor polynomials on |r| <= pi/4,
/// whose first neglected terms are (pi/4)^15 / 15! = 2e-14 and (pi/4)^16 / 16! = 1e-15.
inline SinCos sincos_f64(double x) {
  constexpr double kTwoOverPi = 0x1.45f306dc9c883p-1;
  // 33 significant bits each in the first two parts: n < 2^31 times them rounds only in the fma.
  constexpr double kPiOver2High = 0x1.921fb544p+0;
  constexpr double kPiOver2Middle = 0x1.0b4611a6p-34;
  constexpr double kPiOver2Low = 0x1.3198a2e037073p-69;
  const double n = std::nearbyint(x * kTwoOverPi);
  double r = std::fma(n, -kPiOver2High, x);
  r = std::fma(n, -kPiOver2Middle, r);
  r = std::fma(n, -kPiOver2Low, r);
  const double q = r * r;
  double s = 1.0 / 6227020800.0;
  s = std::fma(s, q, -1.0 / 39916800.0);
  s = std::fma(s, q, 1.0 / 362880.0);
  s = std::fma(s, q, -1.0 / 5040.0);
  s = std::fma(s, q, 1.0 / 120.0);
  s = std::fma(s, q, -1.0 / 6.0);
  s = std::fma(s * q, r, r);
  double c = -1.0 / 87178291200.0;
  c = std::fma(c, q, 1.0 / 479001600.0);
  c = std::fma(c, q, -1.0 / 3628800.0);
  c = std::fma(c, q, 1.0 / 40320.0);
  c = std::fma(c, q, -1.0 / 720.0);
  c = std::fma(c, q, 1.0 / 24.0);
  c = std::fma(c, q, -0.5);
  c = std::fma(c, q, 1.0);
  switch (static_cast<int64_t>(n) & 3) {
    case 0:
      return {s, c};
    case 1:
      return {c, -s};
    case 2:
      return {-s, -c};
    default:
      return {-c, s};
  }
}

}  // namespace gumbel
