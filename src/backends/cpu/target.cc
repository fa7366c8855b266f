#include "backends/cpu/target.h"

#include <cstdlib>
#include <string>

#include "base/error.h"

namespace gumbel::cpu {
namespace {

bool machine_has(CpuTarget target) {
  switch (target) {
    case CpuTarget::kScalar:
      return true;
#if defined(__x86_64__)
    // The compiler's check includes whether the operating system saves the wide registers.
    case CpuTarget::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
             __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2");
    case CpuTarget::kAvx512:
      return machine_has(CpuTarget::kAvx2) && __builtin_cpu_supports("avx512f") &&
             __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case CpuTarget::kVnni:
      return machine_has(CpuTarget::kAvx512) && __builtin_cpu_supports("avx512vnni");
#elif defined(__aarch64__)
    case CpuTarget::kNeon:
      return true;
#endif
    default:
      return false;
  }
}

constexpr CpuTarget kBestFirst[] = {CpuTarget::kVnni, CpuTarget::kAvx512, CpuTarget::kAvx2,
                                    CpuTarget::kNeon, CpuTarget::kScalar};

}  // namespace

std::string_view name(CpuTarget target) {
  switch (target) {
    case CpuTarget::kScalar:
      return "scalar";
    case CpuTarget::kAvx2:
      return "avx2";
    case CpuTarget::kAvx512:
      return "avx512";
    case CpuTarget::kVnni:
      return "vnni";
    case CpuTarget::kNeon:
      return "neon";
  }
  return "";
}

std::vector<CpuTarget> supported_targets() {
  std::vector<CpuTarget> targets;
  for (CpuTarget target : kBestFirst)
    if (machine_has(target)) targets.push_back(target);
  return targets;
}

CpuTarget chosen_target() {
  const char* wanted = std::getenv("GUMBEL_CPU_TARGET");
  const std::vector<CpuTarget> targets = supported_targets();
  if (wanted == nullptr || *wanted == '\0') return targets.front();
  std::string known;
  for (CpuTarget target : targets) {
    if (name(target) == wanted) return target;
    known += known.empty() ? "" : ", ";
    known += name(target);
  }
  fail(ErrorCode::kUnsupported,
       "GUMBEL_CPU_TARGET: expected one that this machine has ({}), got '{}'", known, wanted);
}

}  // namespace gumbel::cpu
