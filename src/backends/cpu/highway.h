// Highway with the project's choice of targets. Include this instead of <hwy/highway.h>; in a file
// that compiles for every target, define HWY_TARGET_INCLUDE and include <hwy/foreach_target.h>
// between this and <hwy/highway.h>, as Highway's own examples do.
//
// Only SCALAR, AVX2, AVX3 and NEON are compiled. Left out: SSSE3 and SSE4, because Highway 1.0.3
// has no fused MulAdd and truncates DemoteTo float16 there; AVX3_DL and later, because g++ 12 then
// emits a VEX vpdpbusd that machines with AVX-512 but without AVX-VNNI fault on; SVE, because its
// lane count is unknown at compile time. SCALAR's MulAdd is not fused either: kernels use
// fused_multiply_add of math-inl.h.
#pragma once

// The baseline without vectors is SCALAR, not EMU128, with every compiler, and it is compiled even
// where the compiler's baseline is better (aarch64, -march=native): GUMBEL_CPU_TARGET=scalar is
// supported everywhere.
#define HWY_BROKEN_EMU128 1
#define HWY_COMPILE_ALL_ATTAINABLE
#define HWY_DISABLED_TARGETS (~(HWY_SCALAR | HWY_AVX2 | HWY_AVX3 | HWY_NEON))
// Every compiler falls back to SCALAR (not to an emulation of 128-bit vectors), and SCALAR is
// compiled also where the baseline already has vectors (aarch64).
#define HWY_BROKEN_EMU128 1
#define HWY_COMPILE_ALL_ATTAINABLE

#include <hwy/detect_targets.h>

#include "backends/cpu/target.h"
