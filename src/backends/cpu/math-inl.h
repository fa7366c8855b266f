// Vector operations whose rounding docs/numerics.md fixes. For files that compile for every target.

#if defined(GUMBEL_BACKENDS_CPU_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GUMBEL_BACKENDS_CPU_MATH_INL_H
#undef GUMBEL_BACKENDS_CPU_MATH_INL_H
#else
#define GUMBEL_BACKENDS_CPU_MATH_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstring>

#include "base/exp.h"
#include "base/float16.h"
#include "base/tanh.h"

// Unrolls the loop that follows, whose trip count is a constant: arrays of vectors then live in
// registers.
#ifndef GUMBEL_UNROLL
#if defined(__clang__)
#define GUMBEL_UNROLL _Pragma("unroll")
#else
#define GUMBEL_UNROLL _Pragma("GCC unroll 16")
#endif
#endif

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Up to 16 lanes of float32, the number of partial sums and of rows of a tile.
using F32 = hn::CappedTag<float, 16>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using VF32 = hn::Vec<F32>;
using VI32 = hn::Vec<I32>;
/// Vectors that make up 16 lanes.
constexpr int kLanes = static_cast<int>(hn::MaxLanes(F32()));
constexpr int kVectors = 16 / kLanes;

/// a * b + c, rounded once.
HWY_INLINE VF32 fused_multiply_add(VF32 a, VF32 b, VF32 c) {
#if HWY_TARGET == HWY_SCALAR
  return VF32(std::fma(a.raw, b.raw, c.raw));
#else
  return hn::MulAdd(a, b, c);
#endif
}

/// c - a * b, rounded once.
HWY_INLINE VF32 negated_fused_multiply_add(VF32 a, VF32 b, VF32 c) {
#if HWY_TARGET == HWY_SCALAR
  return VF32(std::fma(-a.raw, b.raw, c.raw));
#else
  return hn::NegMulAdd(a, b, c);
#endif
}

/// Loads kLanes float16 and converts them, exactly.
HWY_INLINE VF32 load_f16(const uint16_t* from) {
#if HWY_TARGET == HWY_SCALAR
  return VF32(f16_to_f32(*from));
#else
  const hn::Rebind<hwy::float16_t, F32> half;
  return hn::PromoteTo(F32(), hn::LoadU(half, reinterpret_cast<const hwy::float16_t*>(from)));
#endif
}

HWY_INLINE VF32 load_bf16(const uint16_t* from) {
  const hn::Rebind<uint16_t, F32> half;
  return hn::BitCast(F32(), hn::ShiftLeft<16>(hn::PromoteTo(U32(), hn::LoadU(half, from))));
}

/// Converts to float16, nearest and ties to even, and stores kLanes of them.
HWY_INLINE void store_f16(VF32 v, uint16_t* to) {
#if HWY_TARGET == HWY_SCALAR
  *to = f32_to_f16(v.raw);
#else
  const hn::Rebind<hwy::float16_t, F32> half;
  hn::StoreU(hn::DemoteTo(half, v), half, reinterpret_cast<hwy::float16_t*>(to));
#endif
}

/// exp_f32 of every lane, the same bits.
HWY_INLINE VF32 exp(VF32 input) {
#if HWY_TARGET == HWY_SCALAR
  return VF32(exp_f32(input.raw));
#else
  using C = ExpConstants;
  const F32 d;
  VF32 x = hn::Max(input, hn::Set(d, C::kLowest));
  x = hn::Min(x, hn::Set(d, C::kHighest));
  const VF32 n = hn::Round(hn::Mul(x, hn::Set(d, C::kLog2E)));
  VF32 r = fused_multiply_add(n, hn::Set(d, -C::kLn2High), x);
  r = fused_multiply_add(n, hn::Set(d, -C::kLn2Low), r);
  VF32 p = fused_multiply_add(hn::Set(d, C::kC7), r, hn::Set(d, C::kC6));
  p = fused_multiply_add(p, r, hn::Set(d, C::kC5));
  p = fused_multiply_add(p, r, hn::Set(d, C::kC4));
  p = fused_multiply_add(p, r, hn::Set(d, C::kC3));
  p = fused_multiply_add(p, r, hn::Set(d, C::kC2));
  p = fused_multiply_add(p, r, hn::Set(d, 1.0f));
  p = fused_multiply_add(p, r, hn::Set(d, 1.0f));
  const I32 di;
  const VI32 i = hn::ConvertTo(di, n);
  const VI32 half = hn::ShiftRight<1>(i);
  const VI32 bias = hn::Set(di, 127);
  const VF32 low = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(half, bias)));
  const VF32 high = hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(hn::Sub(i, half), bias)));
  const VF32 result = hn::Mul(hn::Mul(p, low), high);
  return hn::IfThenElse(hn::IsNaN(input), input, result);
#endif
}

/// tanh_f32 of every lane, the same bits.
HWY_INLINE VF32 tanh(VF32 x) {
#if HWY_TARGET == HWY_SCALAR
  return VF32(tanh_f32(x.raw));
#else
  using C = TanhConstants;
  const F32 d;
  const VF32 z = hn::Mul(x, x);
  VF32 p = fused_multiply_add(hn::Set(d, C::kC4), z, hn::Set(d, C::kC3));
  p = fused_multiply_add(p, z, hn::Set(d, C::kC2));
  p = fused_multiply_add(p, z, hn::Set(d, C::kC1));
  p = fused_multiply_add(p, z, hn::Set(d, C::kC0));
  const VF32 near_zero = fused_multiply_add(hn::Mul(x, z), p, x);
  const VF32 magnitude = hn::Abs(x);
  const VF32 one = hn::Set(d, 1.0f);
  const VF32 power = exp(hn::Add(magnitude, magnitude));
  const VF32 far = hn::Sub(one, hn::Div(hn::Set(d, 2.0f), hn::Add(power, one)));
  return hn::IfThenElse(hn::Lt(magnitude, hn::Set(d, C::kPolynomialEnd)), near_zero,
                        hn::CopySign(far, x));
#endif
}

/// s[i] += s[i + 8], s[i] += s[i + 4], ...: the tree of every sum over a row.
HWY_INLINE float sum_of_partials(float* s) {
  for (int half = 8; half >= 1; half /= 2)
    for (int i = 0; i < half; ++i) s[i] += s[i + half];
  return s[0];
}

}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // GUMBEL_BACKENDS_CPU_MATH_INL_H
