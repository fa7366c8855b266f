// The operands of the sample op, row by row, as every backend on the host reads them.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/backend.h"
#include "sampling/parameters.h"

namespace gumbel {

/// The logits [V] that row `row` is drawn from: of [B, T, V], the last T.
inline std::span<const float> sample_logits(const OpCall& call, int64_t row) {
  const Tensor& logits = call.inputs[0];
  const int64_t vocab = logits.last();
  const int64_t time = logits.rank == 3 ? logits.dims[1] : 1;
  return {logits.as<const float>() + (row * time + time - 1) * vocab, static_cast<size_t>(vocab)};
}

/// The parameters of row `row`. A parameter of shape [1] serves all rows; a seed that does draws
/// each row from a stream of its own. The position is that after the row's last input position, and
/// 0 for a method without positions.
inline SamplingParameters sample_parameters(const OpCall& call, int64_t row) {
  const auto shared = [&](size_t i) { return call.inputs[i].dims[0] == 1; };
  const auto at = [&](size_t i) { return shared(i) ? 0 : row; };
  SamplingParameters parameters;
  parameters.temperature = call.inputs[1].as<float>()[at(1)];
  parameters.top_k = call.inputs[2].as<int64_t>()[at(2)];
  parameters.top_p = call.inputs[3].as<float>()[at(3)];
  parameters.seed = static_cast<uint64_t>(call.inputs[4].as<int64_t>()[at(4)]);
  parameters.min_p = call.inputs[5].as<float>()[at(5)];
  parameters.stream = shared(4) ? static_cast<uint32_t>(row) : 0;
  if (call.inputs.size() > 6) {
    const Tensor& positions = call.inputs[6];
    const int64_t time = positions.dims[1];
    parameters.position = static_cast<uint32_t>(positions.as<int64_t>()[row * time + time - 1] + 1);
  }
  return parameters;
}

}  // namespace gumbel
