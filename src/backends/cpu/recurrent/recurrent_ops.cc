// The ops with a recurrent state: how each is cut into pieces for the threads.
#include <algorithm>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/pieces.h"

namespace gumbel::cpu {
void CpuBackend::causal_conv(const OpCall& call) const {
  const Tensor& x = call.inputs[0];
  CausalConvTask task;
  task.taps = reinterpret_cast<const float*>(call.weights[0].data);
  task.time = x.dims[1];
  task.channels = x.dims[2];
  task.kept = call.weights[0].columns / task.channels - 1;
  for (int64_t b = 0; b < x.dims[0]; ++b) {
    task.state = begin_row(*call.recurrent, call.inputs[1], b);
    task.x = x.as<float>() + b * task.time * task.channels;
    task.out = call.outputs[0].as<float>() + b * task.time * task.channels;
    // Whole cache lines for each thread.
    const int64_t blocks = (task.channels + 15) / 16;
    for_pieces(pool_, blocks, 8 * task.time * task.channels, [&](int64_t begin, int64_t end) {
      recurrent_.causal_conv(task, begin * 16, std::min(end * 16, task.channels));
    });
  }
}

void CpuBackend::gated_delta_rule(const OpCall& call) const {
  const Tensor& k = call.inputs[1];
  const Tensor& v = call.inputs[2];
  DeltaRuleTask task;
  task.rate = reinterpret_cast<const float*>(call.weights[0].data);
  task.bias = reinterpret_cast<const float*>(call.weights[1].data);
  task.head_order = call.node->attributes.head_order;
  task.time = v.dims[1];
  task.heads = v.dims[2];
  task.value_dim = v.dims[3];
  task.key_heads = k.dims[2];
  task.key_dim = k.dims[3];
  const int64_t keys = task.time * task.key_heads * task.key_dim;
  const int64_t values = task.time * task.heads * task.value_dim;
  // Columns of a head's state do not meet. 64 of them times the usual 128 rows fit the first-level
  // cache, where they stay for all positions of the call.
  constexpr int64_t kColumns = 64;
  const int64_t blocks = (task.value_dim + kColumns - 1) / kColumns;
  for (int64_t b = 0; b < v.dims[0]; ++b) {
    task.state = begin_row(*call.recurrent, call.inputs[5], b);
    task.q = call.inputs[0].as<float>() + b * keys;
    task.k = k.as<float>() + b * keys;
    task.v = v.as<float>() + b * values;
    task.decay = call.inputs[3].as<float>() + b * task.time * task.heads;
    task.strength = call.inputs[4].as<float>() + b * task.time * task.heads;
    task.out = call.outputs[0].as<float>() + b * values;
    for_pieces(pool_, task.heads * blocks, values * task.key_dim, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * kColumns;
        recurrent_.delta_rule(task, i / blocks, first, std::min(first + kColumns, task.value_dim));
      }
    });
  }
}

}  // namespace gumbel::cpu
