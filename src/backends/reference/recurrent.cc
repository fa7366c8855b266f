// The ops with a recurrent state: docs/numerics.md, "Recurrent states".
#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/reference/ops.h"
#include "base/exp.h"
#include "base/softplus.h"

namespace gumbel::reference {
void causal_conv(const OpCall& call) {
  const Tensor& x = call.inputs[0];
  const int64_t time = x.dims[1];
  const int64_t channels = x.dims[2];
  const auto* taps = reinterpret_cast<const float*>(call.weights[0].data);
  const int64_t kept = call.weights[0].columns / channels - 1;  // earlier positions in the state
  for (int64_t b = 0; b < x.dims[0]; ++b) {
    float* state = begin_row(*call.recurrent, call.inputs[1], b);
    std::vector<float> past(state, state + kept * channels);
    past.insert(past.end(), x.as<float>() + b * time * channels,
                x.as<float>() + (b + 1) * time * channels);
    for (int64_t t = 0; t < time; ++t)
      for (int64_t c = 0; c < channels; ++c) {
        float sum = 0.0f;
        for (int64_t w = 0; w <= kept; ++w)
          sum = std::fma(taps[w * channels + c], past[static_cast<size_t>((t + w) * channels + c)],
                         sum);
        call.outputs[0].as<float>()[(b * time + t) * channels + c] = sum / (1.0f + exp_f32(-sum));
      }
    std::copy(past.end() - kept * channels, past.end(), state);
  }
}

void gated_delta_rule(const OpCall& call) {
  const Tensor& keys = call.inputs[1];
  const Tensor& values = call.inputs[2];
  const int64_t time = values.dims[1];
  const int64_t heads = values.dims[2];
  const int64_t key_heads = keys.dims[2];
  const int64_t key_dim = keys.dims[3];
  const int64_t value_dim = values.dims[3];
  const HeadOrder order = call.node->attributes.head_order;
  const auto* rates = reinterpret_cast<const float*>(call.weights[0].data);
  const auto* biases = reinterpret_cast<const float*>(call.weights[1].data);
  for (int64_t b = 0; b < values.dims[0]; ++b) {
    float* state = begin_row(*call.recurrent, call.inputs[5], b);
    for (int64_t t = 0; t < time; ++t)
      for (int64_t head = 0; head < heads; ++head) {
        const int64_t position = b * time + t;
        const int64_t key =
            (position * key_heads + key_head(order, head, heads, key_heads)) * key_dim;
        const float* q = call.inputs[0].as<float>() + key;
        const float* k = keys.as<float>() + key;
        const float* v = values.as<float>() + (position * heads + head) * value_dim;
        float* out = call.outputs[0].as<float>() + (position * heads + head) * value_dim;
        float* s = state + head * key_dim * value_dim;
        const float step =
            softplus_f32(call.inputs[3].as<float>()[position * heads + head] + biases[head]);
        const float decay = exp_f32(rates[head] * step);
        const float strength =
            1.0f / (1.0f + exp_f32(-call.inputs[4].as<float>()[position * heads + head]));
        for (int64_t d = 0; d < value_dim; ++d) {
          float recalled = 0.0f;
          for (int64_t i = 0; i < key_dim; ++i) {
            s[i * value_dim + d] = s[i * value_dim + d] * decay;
            recalled = std::fma(s[i * value_dim + d], k[i], recalled);
          }
          const float correction = (v[d] - recalled) * strength;
          out[d] = 0.0f;
          for (int64_t i = 0; i < key_dim; ++i) {
            s[i * value_dim + d] = std::fma(k[i], correction, s[i * value_dim + d]);
            out[d] = std::fma(s[i * value_dim + d], q[i], out[d]);
          }
        }
      }
  }
}

}  // namespace gumbel::reference
