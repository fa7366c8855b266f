// The hyperbolic tangent as a fixed sequence of float32 operations.
#pragma once

#include <cmath>

#include "base/exp.h"

namespace gumbel {

/// Constants of tanh, shared by the scalar function below and by vector kernels.
struct TanhConstants {
  /// Below it tanh is a polynomial, which keeps the relative error of small results small.
  static constexpr float kPolynomialEnd = 0.625f;
  // tanh(x) = x + x z p(z), z = x^2: least maximal relative error over z in [0, 0.625^2], 4.2e-9.
  static constexpr float kC0 = -0.3333328366279602f;
  static constexpr float kC1 = 0.13331490755081177f;
  static constexpr float kC2 = -0.05374349653720856f;
  static constexpr float kC3 = 0.020650578662753105f;
  static constexpr float kC4 = -0.005717036779969931f;
};

/// tanh(x) within two units in the last place; NaN for NaN.
inline float tanh_f32(float x) {
  using C = TanhConstants;
  const float magnitude = std::fabs(x);
  if (magnitude < C::kPolynomialEnd) {
    const float z = x * x;
    float p = std::fma(C::kC4, z, C::kC3);
    p = std::fma(p, z, C::kC2);
    p = std::fma(p, z, C::kC1);
    p = std::fma(p, z, C::kC0);
    return std::fma(x * z, p, x);
  }
  // e^(2 |x|) is infinite from 44.5 on, where the quotient is 0.
  const float power = exp_f32(magnitude + magnitude);
  return std::copysign(1.0f - 2.0f / (power + 1.0f), x);
}

}  // namespace gumbel
