// Quantization of activations to 8 bits (docs/numerics.md, "Matrix products").

#if defined(GUMBEL_BACKENDS_CPU_QUANTIZE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GUMBEL_BACKENDS_CPU_QUANTIZE_INL_H
#undef GUMBEL_BACKENDS_CPU_QUANTIZE_INL_H
#else
#define GUMBEL_BACKENDS_CPU_QUANTIZE_INL_H
#endif

#include <bit>
#include <limits>

#include "backends/cpu/linear/activations.h"
#include "backends/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {

/// The bits of the largest magnitude of 32 floats. Magnitudes order as their bits do, and those of
/// infinity and the NaNs come last.
HWY_INLINE uint32_t largest_magnitude(const float* x) {
  const I32 di;
  const VI32 mask = hn::Set(di, 0x7FFFFFFF);
  VI32 largest = hn::Zero(di);
  GUMBEL_UNROLL
  for (int i = 0; i < kGroup; i += kLanes)
    largest = hn::Max(largest, hn::And(mask, hn::BitCast(di, hn::LoadU(F32(), x + i))));
  return static_cast<uint32_t>(hn::GetLane(hn::MaxOfLanes(di, largest)));
}

/// Writes rint(x * factor) of 32 floats; returns the sums of the first and last 16 through `sums`.
HWY_INLINE void round_to_codes(const float* x, float factor, int8_t* codes, int32_t (&sums)[2]) {
  const I32 di;
  const hn::Rebind<int8_t, I32> d8;
  const VF32 scale = hn::Set(F32(), factor);
  for (int half = 0; half < 2; ++half) {
    VI32 sum = hn::Zero(di);
    GUMBEL_UNROLL
    for (int i = 16 * half; i < 16 * half + 16; i += kLanes) {
      const VF32 product = hn::Mul(hn::LoadU(F32(), x + i), scale);
#if HWY_TARGET == HWY_SCALAR
      const VI32 code(static_cast<int32_t>(std::nearbyint(product.raw)));
#else
      const VI32 code = hn::NearestInt(product);
#endif
      hn::StoreU(hn::DemoteTo(d8, code), d8, codes + i);
      sum = hn::Add(sum, code);
    }
    sums[half] = hn::GetLane(hn::SumOfLanes(di, sum));
  }
}

/// LinearKernels::quantize.
HWY_INLINE void quantize_row(const float* x, int64_t columns, int64_t row, int block,
                             const ActivationTraits& traits, std::byte* out) {
  const ActivationLayout layout{block};
  const auto r = static_cast<int>(row % block);
  const int64_t groups = columns / kGroup;
  std::byte* group = out + row / block * groups * layout.bytes();
  for (int64_t g = 0; g < groups; ++g, group += layout.bytes()) {
    auto* codes = reinterpret_cast<int8_t*>(group + layout.codes(r));
    int32_t sums[2] = {0, 0};
    float scale = 0;
    const uint32_t bits = x == nullptr ? 0 : largest_magnitude(x + g * kGroup);
    const auto magnitude = std::bit_cast<float>(bits);
    // Overflows for zero and for magnitudes below 2^-121, and those count as zeros.
    const float factor = 127.0f / magnitude;
    if (bits < 0x7F800000u && factor <= std::numeric_limits<float>::max()) {
      scale = magnitude / 127.0f;
      round_to_codes(x + g * kGroup, factor, codes, sums);
    } else {
      if (bits >= 0x7F800000u) scale = std::numeric_limits<float>::quiet_NaN();
      std::memset(codes, 0, kGroup);
    }
    if (!traits.halves) sums[0] += sums[1];
    for (int half = 0; half < 2; ++half) {
      const int32_t correction = -traits.zero * sums[half];
      float sum = static_cast<float>(sums[half]);
      if (traits.scaled_sums) sum = scale * sum;
      std::memcpy(group + layout.correction(half, r), &correction, 4);
      std::memcpy(group + layout.sum(half, r), &sum, 4);
    }
    std::memcpy(group + layout.scale(r), &scale, 4);
  }
}

}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // GUMBEL_BACKENDS_CPU_QUANTIZE_INL_H
