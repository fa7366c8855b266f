#include "backends/cpu/target.h"

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

#include <cstdlib>
#include <string>

#include "base/error.h"

namespace gumbel::cpu {
namespace {

#if defined(__x86_64__)
/// Whether there is AMX with int8 and the operating system lets this process use it. Linux wants to
/// be asked, once for all threads, since the tiles enlarge what it saves of them.
bool has_amx() {
#if defined(__linux__)
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0) return false;
  constexpr unsigned kTile = 1u << 24, kInt8 = 1u << 25;  // Intel's manual, CPUID leaf 7
  if ((edx & kTile) == 0 || (edx & kInt8) == 0) return false;
  constexpr int kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM of <asm/prctl.h>, Linux 5.16
  constexpr int kTileData = 18;               // XFEATURE_XTILEDATA
  static const bool allowed = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return allowed;
#else
  return false;
#endif
}
#endif

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
    case CpuTarget::kAmx:
      return machine_has(CpuTarget::kVnni) && has_amx();
#elif defined(__aarch64__)
    case CpuTarget::kNeon:
      return true;
#endif
    default:
      return false;
  }
}

constexpr CpuTarget kBestFirst[] = {CpuTarget::kAmx,  CpuTarget::kVnni, CpuTarget::kAvx512,
                                    CpuTarget::kAvx2, CpuTarget::kNeon, CpuTarget::kScalar};

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
    case CpuTarget::kAmx:
      return "amx";
    case CpuTarget::kNeon:
      return "neon";
  }
  return "";
}

std::vector<CpuTarget> supported_targets() {
  std::vector<CpuTarget> targets;
  for (const CpuTarget target : kBestFirst)
    if (machine_has(target)) targets.push_back(target);
  return targets;
}

CpuTarget chosen_target() {
  const char* wanted = std::getenv("GUMBEL_CPU_TARGET");
  const std::vector<CpuTarget> targets = supported_targets();
  if (wanted == nullptr || *wanted == '\0') return targets.front();
  std::string known;
  for (const CpuTarget target : targets) {
    if (name(target) == wanted) return target;
    known += known.empty() ? "" : ", ";
    known += name(target);
  }
  fail(ErrorCode::kUnsupported,
       "GUMBEL_CPU_TARGET: expected one that this machine has ({}), got '{}'", known, wanted);
}

}  // namespace gumbel::cpu
