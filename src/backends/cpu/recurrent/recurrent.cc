// The kernels of the ops with a recurrent state, for every instruction set.

#include "backends/cpu/highway.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/recurrent/recurrent.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cmath>

#include "backends/cpu/dispatch.h"
#include "backends/cpu/kernels.h"
#include "backends/cpu/math-inl.h"
#include "base/softplus.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {

/// The inputs of all channels at position `t` of the call, which is one of the state's where it is
/// negative.
HWY_INLINE const float* conv_inputs(const CausalConvTask& task, int64_t t) {
  return t < 0 ? task.state + (task.kept + t) * task.channels : task.x + t * task.channels;
}

inline void causal_conv(const CausalConvTask& task, int64_t first, int64_t last) {
  const F32 d;
  for (int64_t t = 0; t < task.time; ++t) {
    int64_t c = first;
    for (; c + kLanes <= last; c += kLanes) {
      VF32 sum = hn::Zero(d);
      for (int64_t w = 0; w <= task.kept; ++w)
        sum = fused_multiply_add(hn::LoadU(d, task.taps + w * task.channels + c),
                                 hn::LoadU(d, conv_inputs(task, t - task.kept + w) + c), sum);
      const VF32 denominator = hn::Add(hn::Set(d, 1.0f), exp(hn::Neg(sum)));
      hn::StoreU(hn::Div(sum, denominator), d, task.out + t * task.channels + c);
    }
    for (; c < last; ++c) {
      float sum = 0.0f;
      for (int64_t w = 0; w <= task.kept; ++w)
        sum = std::fma(task.taps[w * task.channels + c], conv_inputs(task, t - task.kept + w)[c],
                       sum);
      task.out[t * task.channels + c] = sum / (1.0f + exp_f32(-sum));
    }
  }
  // Ascending, so that what a short call leaves in the state moves before it is overwritten.
  for (int64_t w = 0; w < task.kept; ++w)
    std::copy(conv_inputs(task, task.time - task.kept + w) + first,
              conv_inputs(task, task.time - task.kept + w) + last,
              task.state + w * task.channels + first);
}

/// One position of kVectors * kLanes columns of the state of a head, `s`.
template <int kVectors>
HWY_INLINE void delta_step(const DeltaRuleTask& task, const float* q, const float* k,
                           const float* v, float decay, float strength, float* s, float* out) {
  const F32 d;
  const int64_t stride = task.value_dim;
  const VF32 decays = hn::Set(d, decay);
  VF32 recalled[kVectors];
  GUMBEL_UNROLL
  for (int i = 0; i < kVectors; ++i) recalled[i] = hn::Zero(d);
  for (int64_t row = 0; row < task.key_dim; ++row) {
    const VF32 key = hn::Set(d, k[row]);
    GUMBEL_UNROLL
    for (int i = 0; i < kVectors; ++i) {
      float* at = s + row * stride + i * kLanes;
      const VF32 state = hn::Mul(hn::LoadU(d, at), decays);
      hn::StoreU(state, d, at);
      recalled[i] = fused_multiply_add(state, key, recalled[i]);
    }
  }
  VF32 correction[kVectors], result[kVectors];
  GUMBEL_UNROLL
  for (int i = 0; i < kVectors; ++i) {
    correction[i] =
        hn::Mul(hn::Sub(hn::LoadU(d, v + i * kLanes), recalled[i]), hn::Set(d, strength));
    result[i] = hn::Zero(d);
  }
  for (int64_t row = 0; row < task.key_dim; ++row) {
    const VF32 key = hn::Set(d, k[row]), query = hn::Set(d, q[row]);
    GUMBEL_UNROLL
    for (int i = 0; i < kVectors; ++i) {
      float* at = s + row * stride + i * kLanes;
      const VF32 state = fused_multiply_add(key, correction[i], hn::LoadU(d, at));
      hn::StoreU(state, d, at);
      result[i] = fused_multiply_add(state, query, result[i]);
    }
  }
  GUMBEL_UNROLL
  for (int i = 0; i < kVectors; ++i) hn::StoreU(result[i], d, out + i * kLanes);
}

/// The same for one column.
inline void delta_step_of_column(const DeltaRuleTask& task, const float* q, const float* k,
                                 const float* v, float decay, float strength, float* s,
                                 float* out) {
  float recalled = 0.0f;
  for (int64_t row = 0; row < task.key_dim; ++row) {
    s[row * task.value_dim] = s[row * task.value_dim] * decay;
    recalled = std::fma(s[row * task.value_dim], k[row], recalled);
  }
  const float correction = (*v - recalled) * strength;
  *out = 0.0f;
  for (int64_t row = 0; row < task.key_dim; ++row) {
    s[row * task.value_dim] = std::fma(k[row], correction, s[row * task.value_dim]);
    *out = std::fma(s[row * task.value_dim], q[row], *out);
  }
}

inline void delta_rule(const DeltaRuleTask& task, int64_t head, int64_t first, int64_t last) {
  const int64_t keys = key_head(task.head_order, head, task.heads, task.key_heads);
  float* state = task.state + head * task.key_dim * task.value_dim;
  for (int64_t t = 0; t < task.time; ++t) {
    const int64_t gate = t * task.heads + head;
    const float step = softplus_f32(task.decay[gate] + task.bias[head]);
    const float decay = exp_f32(task.rate[head] * step);
    const float strength = 1.0f / (1.0f + exp_f32(-task.strength[gate]));
    const float* q = task.q + (t * task.key_heads + keys) * task.key_dim;
    const float* k = task.k + (t * task.key_heads + keys) * task.key_dim;
    const float* v = task.v + gate * task.value_dim;
    float* out = task.out + gate * task.value_dim;
    // Four chains of multiply-adds hide their latency.
    int64_t i = first;
    for (; i + 4 * kLanes <= last; i += 4 * kLanes)
      delta_step<4>(task, q, k, v + i, decay, strength, state + i, out + i);
    for (; i + kLanes <= last; i += kLanes)
      delta_step<1>(task, q, k, v + i, decay, strength, state + i, out + i);
    for (; i < last; ++i)
      delta_step_of_column(task, q, k, v + i, decay, strength, state + i, out + i);
  }
}

inline RecurrentKernels recurrent_kernels() { return {causal_conv, delta_rule}; }

}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gumbel::cpu {

RecurrentKernels recurrent_kernels(CpuTarget target) {
  constexpr auto kKernels = GUMBEL_TARGET_TABLE(recurrent_kernels);
  return kKernels[target]();
}

}  // namespace gumbel::cpu
#endif
