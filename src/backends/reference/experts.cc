// Mixtures of experts: docs/numerics.md, "Experts".
#include <algorithm>
#include <cmath>
#include <vector>

#include "backends/reference/linear.h"
#include "backends/reference/ops.h"
#include "backends/reference/packing.h"
#include "base/exp.h"

namespace gumbel::reference {

void router(const OpCall& call) {
  const Tensor& scores = call.inputs[0];
  const int64_t experts = scores.last();
  const int64_t top_k = call.outputs[0].last();
  const auto* factors =
      call.weights.empty() ? nullptr : reinterpret_cast<const float*>(call.weights[0].data);
  for (int64_t row = 0; row < scores.elements() / experts; ++row) {
    const float* s = scores.as<float>() + row * experts;
    int64_t* chosen = call.outputs[0].as<int64_t>() + row * top_k;
    float* weights = call.outputs[1].as<float>() + row * top_k;
    for (int64_t k = 0; k < top_k; ++k) {
      int64_t best = -1;
      for (int64_t e = 0; e < experts; ++e)
        if (std::find(chosen, chosen + k, e) == chosen + k && (best < 0 || s[e] > s[best]))
          best = e;
      chosen[k] = best;
    }
    float sum = 0.0f;
    for (int64_t k = 0; k < top_k; ++k) {
      weights[k] = exp_f32(s[chosen[k]] - s[chosen[0]]);
      sum = sum + weights[k];
    }
    for (int64_t k = 0; k < top_k; ++k) {
      weights[k] = weights[k] / sum;
      if (factors != nullptr) weights[k] = weights[k] * factors[chosen[k]];
    }
  }
}

void expert_linear(const OpCall& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& experts = call.inputs[1];
  const PackedWeight& weight = call.weights[0];
  const int64_t choices = experts.last();
  // x has a row for each choice, or one for all of a position's choices.
  const int64_t choices_of_row = x.rank == 4 ? 1 : choices;
  const uint64_t matrix_bytes =
      static_cast<uint64_t>(weight.rows) * row_bytes(weight.type, weight.columns);
  for (int64_t i = 0; i < experts.elements(); ++i) {
    PackedWeight matrix = weight;
    matrix.data += static_cast<uint64_t>(experts.as<int64_t>()[i]) * matrix_bytes;
    multiply(matrix, x.as<float>() + i / choices_of_row * weight.columns, 1,
             call.outputs[0].as<float>() + i * weight.rows);
  }
}

void expert_sum(const OpCall& call) {
  const Tensor& x = call.inputs[0];
  const int64_t choices = x.dims[2];
  const int64_t width = x.dims[3];
  const float* weights = call.inputs[1].as<float>();
  for (int64_t i = 0; i < x.dims[0] * x.dims[1]; ++i)
    for (int64_t d = 0; d < width; ++d) {
      float sum = 0.0f;
      for (int64_t k = 0; k < choices; ++k)
        sum = std::fma(x.as<float>()[(i * choices + k) * width + d], weights[i * choices + k], sum);
      call.outputs[0].as<float>()[i * width + d] = sum;
    }
}

}  // namespace gumbel::reference
