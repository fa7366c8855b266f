// Choosing, by CpuTarget, among the copies of a function that Highway compiled one per instruction
// set. Include below <hwy/highway.h>, in a file compiled through <hwy/foreach_target.h>, and use
// under #if HWY_ONCE:
//
//   constexpr auto kDrawRow = GUMBEL_TARGET_TABLE(draw_row);  // N_SCALAR::draw_row, N_AVX2::...
//   return kDrawRow[target](arguments...);
#pragma once

#include "backends/cpu/target.h"

namespace gumbel::cpu {

/// One function pointer per instruction set; null where it is not compiled.
template <typename Function>
struct TargetTable {
  Function* scalar;
  Function* avx2;
  Function* avx512;
  Function* neon;

  /// The function for `target`, which is one of supported_targets(). VNNI and AMX add only dot
  /// products, so kVnni and kAmx share AVX-512's copy.
  constexpr Function* operator[](CpuTarget target) const {
    switch (target) {
      case CpuTarget::kScalar:
        return scalar;
      case CpuTarget::kAvx2:
        return avx2;
      case CpuTarget::kAvx512:
      case CpuTarget::kVnni:
      case CpuTarget::kAmx:
        return avx512;
      case CpuTarget::kNeon:
        return neon;
    }
    return nullptr;
  }
};

}  // namespace gumbel::cpu

#if HWY_TARGETS & HWY_AVX2
#define GUMBEL_AVX2_COPY(function) &N_AVX2::function
#else
#define GUMBEL_AVX2_COPY(function) nullptr
#endif
#if HWY_TARGETS & HWY_AVX3
#define GUMBEL_AVX512_COPY(function) &N_AVX3::function
#else
#define GUMBEL_AVX512_COPY(function) nullptr
#endif
#if HWY_TARGETS & HWY_NEON
#define GUMBEL_NEON_COPY(function) &N_NEON::function
#else
#define GUMBEL_NEON_COPY(function) nullptr
#endif

/// A TargetTable of the copies of `function` in the namespaces N_SCALAR, N_AVX2, ....
#define GUMBEL_TARGET_TABLE(function)                                              \
  ::gumbel::cpu::TargetTable<decltype(N_SCALAR::function)> {                       \
    &N_SCALAR::function, GUMBEL_AVX2_COPY(function), GUMBEL_AVX512_COPY(function), \
        GUMBEL_NEON_COPY(function)                                                 \
  }
