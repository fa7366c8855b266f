// The softplus function as a fixed sequence of float32 operations.
#pragma once

#include <cmath>

#include "base/exp.h"

namespace gumbel {

/// log(1 + e^x) within four units in the last place; NaN for NaN.
inline float softplus_f32(float x) {
  // log(1 + e^x) = max(x, 0) + log(1 + u), u = e^-|x| in [0, 1]. With s = u / (2 + u), at most 1/3,
  // log(1 + u) = 2 atanh(s) = 2 s (1 + s^2 / 3 + s^4 / 5 + ...); the first term left out is below
  // (1/3)^16 / 17 = 1.4e-9.
  const float u = exp_f32(-std::fabs(x));
  const float s = u / (2.0f + u);
  const float z = s * s;
  float p = std::fma(1.0f / 15.0f, z, 1.0f / 13.0f);
  p = std::fma(p, z, 1.0f / 11.0f);
  p = std::fma(p, z, 1.0f / 9.0f);
  p = std::fma(p, z, 1.0f / 7.0f);
  p = std::fma(p, z, 1.0f / 5.0f);
  p = std::fma(p, z, 1.0f / 3.0f);
  const float logarithm = std::fma((s + s) * z, p, s + s);
  return (x > 0.0f ? x : 0.0f) + logarithm;
}

}  // namespace gumbel
