// Compiles attention for every instruction set.

#include "backends/cpu/highway.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/attention/attention.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/attention/attention-inl.h"
#include "backends/cpu/kernels.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {

inline AttentionKernels attention_kernels(DataType cache_type) {
  if (cache_type == DataType::kF16) return {attend<uint16_t>, update_cache<uint16_t>};
  return {attend<float>, update_cache<float>};
}

}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gumbel::cpu {

AttentionKernels attention_kernels(CpuTarget target, DataType cache_type) {
  switch (target) {
#if HWY_ARCH_X86
    case CpuTarget::kAvx2:
      return N_AVX2::attention_kernels(cache_type);
    case CpuTarget::kAvx512:
    case CpuTarget::kVnni:
    case CpuTarget::kAmx:
      return N_AVX3::attention_kernels(cache_type);
#elif HWY_ARCH_ARM_A64
    case CpuTarget::kNeon:
      return N_NEON::attention_kernels(cache_type);
#endif
    default:
      return N_SCALAR::attention_kernels(cache_type);
  }
}

}  // namespace gumbel::cpu
#endif
