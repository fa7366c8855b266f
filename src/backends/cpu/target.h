// The instruction sets that CPU kernels are compiled for, and which of them this machine has.
#pragma once

#include <string_view>
#include <vector>

namespace gumbel::cpu {

/// An instruction set of the CPU backend, as GUMBEL_CPU_TARGET names it.
enum class CpuTarget {
  kScalar,  ///< "scalar": portable C++ without vectors; every machine.
  kAvx2,    ///< "avx2": x86 with AVX2, FMA and F16C.
  kAvx512,  ///< "avx512": x86 with AVX-512 F, BW, CD, DQ and VL.
  kVnni,    ///< "vnni": kAvx512 and AVX512-VNNI's int8 dot product.
  kAmx,     ///< "amx": kVnni and AMX's int8 tiles.
  kNeon,    ///< "neon": aarch64 with Advanced SIMD.
};

std::string_view name(CpuTarget target);

/// Every target that this machine can run, best first; kScalar is always the last.
std::vector<CpuTarget> supported_targets();

/// The target that GUMBEL_CPU_TARGET names, or the best supported one where it is unset or empty.
/// Throws Error(kUnsupported) for a name that is unknown or that this machine lacks, listing those
/// it has.
CpuTarget chosen_target();

}  // namespace gumbel::cpu
