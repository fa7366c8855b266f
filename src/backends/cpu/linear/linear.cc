// Compiles the matrix products for every instruction set.

#include "backends/cpu/highway.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/linear/linear.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <atomic>

#include "backends/cpu/kernels.h"
#include "backends/cpu/linear/float_linear-inl.h"
#include "backends/cpu/linear/quantize-inl.h"
#include "backends/cpu/math-inl.h"

// The types of quantized weights, each as an argument of the macro CASE.
// clang-format off
#define GUMBEL_QUANTIZED_TYPES(CASE)                                      \
  CASE(kQ4_0) CASE(kQ4_1) CASE(kQ5_0) CASE(kQ5_1) CASE(kQ8_0) CASE(kQ2_K) \
  CASE(kQ3_K) CASE(kQ4_K) CASE(kQ5_K) CASE(kQ6_K) CASE(kIQ4_NL)           \
  CASE(kIQ4_XS) CASE(kMXFP4)
// clang-format on

#define GUMBEL_VNNI 0
#define GUMBEL_DOT plain
#include "backends/cpu/linear/dot-inl.h"
#include "backends/cpu/linear/linear-inl.h"
#undef GUMBEL_VNNI
#undef GUMBEL_DOT

#if HWY_TARGET == HWY_AVX3
#define GUMBEL_VNNI 1
#define GUMBEL_DOT vnni
#include "backends/cpu/linear/dot-inl.h"
#include "backends/cpu/linear/linear-inl.h"
#undef GUMBEL_VNNI
#undef GUMBEL_DOT
#include "backends/cpu/linear/linear_amx-inl.h"
#endif

#if HWY_ONCE
namespace gumbel::cpu {

LinearKernels linear_kernels(CpuTarget target, WeightType type) {
  const bool is_float = traits(type).is_float();
  switch (target) {
#if HWY_ARCH_X86
    case CpuTarget::kAvx2:
      return is_float ? N_AVX2::float_kernels(type) : N_AVX2::plain::quantized_kernels(type);
    case CpuTarget::kAvx512:
      return is_float ? N_AVX3::float_kernels(type) : N_AVX3::plain::quantized_kernels(type);
    case CpuTarget::kAmx:
      return is_float ? N_AVX3::float_kernels(type) : N_AVX3::amx::quantized_kernels(type);
    case CpuTarget::kVnni:
      return is_float ? N_AVX3::float_kernels(type) : N_AVX3::vnni::quantized_kernels(type);
#elif HWY_ARCH_ARM_A64
    case CpuTarget::kNeon:
      return is_float ? N_NEON::float_kernels(type) : N_NEON::plain::quantized_kernels(type);
#endif
    default:
      return is_float ? N_SCALAR::float_kernels(type) : N_SCALAR::plain::quantized_kernels(type);
  }
}

}  // namespace gumbel::cpu
#endif
