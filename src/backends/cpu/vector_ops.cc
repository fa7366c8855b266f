// The ops that work element by element or row by row, for every instruction set.

#include "backends/cpu/highway.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/vector_ops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cmath>

#include "backends/cpu/kernels.h"
#include "backends/cpu/math-inl.h"
#include "base/sincos.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {

/// out[i] = op(a[i], b[i]) by vectors. The last ones go through a buffer, so that every element
/// meets the same operations and nothing outside is read.
template <typename Op>
HWY_INLINE void map(const float* a, const float* b, float* out, int64_t n, const Op& op) {
  const F32 d;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    hn::StoreU(op(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, out + i);
  if (i == n) return;
  float left[16] = {}, right[16] = {};
  std::memcpy(left, a + i, static_cast<size_t>(n - i) * sizeof(float));
  std::memcpy(right, b + i, static_cast<size_t>(n - i) * sizeof(float));
  hn::StoreU(op(hn::LoadU(d, left), hn::LoadU(d, right)), d, left);
  std::memcpy(out + i, left, static_cast<size_t>(n - i) * sizeof(float));
}

struct Add {
  HWY_INLINE VF32 operator()(VF32 a, VF32 b) const { return hn::Add(a, b); }
};

struct Silu {
  HWY_INLINE VF32 operator()(VF32 gate, VF32 up) const {
    const VF32 denominator = hn::Add(hn::Set(F32(), 1.0f), exp(hn::Neg(gate)));
    return hn::Mul(hn::Div(gate, denominator), up);
  }
};

struct GeluTanh {
  HWY_INLINE VF32 operator()(VF32 gate, VF32 up) const {
    const F32 d;
    const VF32 cubic = hn::Mul(hn::Set(d, 0.044715f), hn::Mul(gate, gate));
    const VF32 inner = fused_multiply_add(cubic, gate, gate);
    const VF32 power = exp(hn::Mul(hn::Set(d, -1.5957691216f), inner));
    return hn::Mul(hn::Div(gate, hn::Add(hn::Set(d, 1.0f), power)), up);
  }
};

struct Sigmoid {
  HWY_INLINE VF32 operator()(VF32 gate, VF32 up) const {
    const VF32 one = hn::Set(F32(), 1.0f);
    return hn::Mul(hn::Div(one, hn::Add(one, exp(hn::Neg(gate)))), up);
  }
};

struct SoftCap {
  HWY_INLINE VF32 operator()(VF32 x, VF32) const { return hn::Mul(cap, tanh(hn::Div(x, cap))); }
  VF32 cap;
};

struct Scale {
  HWY_INLINE VF32 operator()(VF32 x, VF32) const { return hn::Mul(x, factor); }
  VF32 factor;
};

/// (x * r) * w
struct Normalize {
  HWY_INLINE VF32 operator()(VF32 x, VF32 w) const { return hn::Mul(hn::Mul(x, factor), w); }
  VF32 factor;
};

inline void add(const float* a, const float* b, float* out, int64_t n) { map(a, b, out, n, Add()); }

inline void silu(const float* gate, const float* up, float* out, int64_t n) {
  map(gate, up, out, n, Silu());
}

inline void gelu_tanh(const float* gate, const float* up, float* out, int64_t n) {
  map(gate, up, out, n, GeluTanh());
}

inline void sigmoid(const float* gate, const float* up, float* out, int64_t n) {
  map(gate, up, out, n, Sigmoid());
}

inline void scale(const float* x, float factor, float* out, int64_t n) {
  map(x, x, out, n, Scale{hn::Set(F32(), factor)});
}

inline void soft_cap(const float* x, float cap, float* out, int64_t n) {
  map(x, x, out, n, SoftCap{hn::Set(F32(), cap)});
}

inline void weighted_sum(const float* x, const float* weights, int64_t count, float* out,
                         int64_t n) {
  const F32 d;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    VF32 sum = hn::Zero(d);
    for (int64_t k = 0; k < count; ++k)
      sum = fused_multiply_add(hn::LoadU(d, x + k * n + i), hn::Set(d, weights[k]), sum);
    hn::StoreU(sum, d, out + i);
  }
  for (; i < n; ++i) {
    out[i] = 0.0f;
    for (int64_t k = 0; k < count; ++k) out[i] = std::fma(x[k * n + i], weights[k], out[i]);
  }
}

inline void rms_norm(const float* x, const float* weight, float epsilon, float* out, int64_t n) {
  const F32 d;
  VF32 sums[kVectors];
  GUMBEL_UNROLL
  for (int v = 0; v < kVectors; ++v) sums[v] = hn::Zero(d);
  const auto add_squares = [&](const float* from) HWY_ATTR {
    GUMBEL_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const VF32 value = hn::LoadU(d, from + v * kLanes);
      sums[v] = fused_multiply_add(value, value, sums[v]);
    }
  };
  int64_t i = 0;
  for (; i + 16 <= n; i += 16) add_squares(x + i);
  if (i < n) {
    // Zeros leave a sum of squares as it is.
    float last[16] = {};
    std::memcpy(last, x + i, static_cast<size_t>(n - i) * sizeof(float));
    add_squares(last);
  }
  float partials[16];
  GUMBEL_UNROLL
  for (int v = 0; v < kVectors; ++v) hn::StoreU(sums[v], d, partials + v * kLanes);
  const float mean = sum_of_partials(partials) / static_cast<float>(n);
  const float factor = 1.0f / std::sqrt(mean + epsilon);
  map(x, weight, out, n, Normalize{hn::Set(d, factor)});
}

/// Rotates kLanes pairs, or fewer through buffers.
HWY_INLINE void rotate(const float* x, const float* cosine, const float* sine, float* out,
                       int64_t half) {
  const F32 d;
  const VF32 a = hn::LoadU(d, x), b = hn::LoadU(d, x + half);
  const VF32 c = hn::LoadU(d, cosine), s = hn::LoadU(d, sine);
  hn::StoreU(fused_multiply_add(a, c, hn::Neg(hn::Mul(b, s))), d, out);
  hn::StoreU(fused_multiply_add(b, c, hn::Mul(a, s)), d, out + half);
}

inline void rotary(const float* x, const float* table, float* out, int64_t count, int64_t dim,
                   int64_t half) {
  for (int64_t head = 0; head < count; ++head, x += dim, out += dim) {
    int64_t i = 0;
    for (; i + kLanes <= half; i += kLanes)
      rotate(x + i, table + i, table + half + i, out + i, half);
    if (i < half) {
      const auto bytes = static_cast<size_t>(half - i) * sizeof(float);
      float pair[32] = {}, cosine[16] = {}, sine[16] = {};
      std::memcpy(pair, x + i, bytes);
      std::memcpy(pair + 16, x + half + i, bytes);
      std::memcpy(cosine, table + i, bytes);
      std::memcpy(sine, table + half + i, bytes);
      rotate(pair, cosine, sine, pair, 16);
      std::memcpy(out + i, pair, bytes);
      std::memcpy(out + half + i, pair + 16, bytes);
    }
    if (out != x)
      std::memcpy(out + 2 * half, x + 2 * half,
                  static_cast<size_t>(dim - 2 * half) * sizeof(float));
  }
}

inline void rotary_table(int64_t position, const float* frequencies, float* table, int64_t half) {
  for (int64_t i = 0; i < half; ++i) {
    const double angle = static_cast<double>(position) * static_cast<double>(frequencies[i]);
    const SinCos value = sincos_f64(angle);
    table[i] = static_cast<float>(value.cos);
    table[half + i] = static_cast<float>(value.sin);
  }
}

inline VectorKernels vector_kernels() {
  return {add,         {silu, gelu_tanh, sigmoid}, scale, soft_cap, weighted_sum, rms_norm, rotary,
          rotary_table};
}

}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gumbel::cpu {

VectorKernels vector_kernels(CpuTarget target) {
  switch (target) {
#if HWY_ARCH_X86
    case CpuTarget::kAvx2:
      return N_AVX2::vector_kernels();
    case CpuTarget::kAvx512:
    case CpuTarget::kVnni:
    case CpuTarget::kAmx:
      return N_AVX3::vector_kernels();
#elif HWY_ARCH_ARM_A64
    case CpuTarget::kNeon:
      return N_NEON::vector_kernels();
#endif
    default:
      return N_SCALAR::vector_kernels();
  }
}

}  // namespace gumbel::cpu
#endif
