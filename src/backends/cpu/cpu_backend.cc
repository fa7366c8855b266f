#include "backends/cpu/cpu_backend.h"

#include "backends/cpu/linear/packing.h"
#include "backends/cpu/sample/sample.h"

namespace gumbel::cpu {

CpuBackend::CpuBackend(CpuTarget target, int threads)
    : target_(target),
      pool_(threads),
      attention_f16_(attention_kernels(target, DataType::kF16)),
      attention_f32_(attention_kernels(target, DataType::kF32)),
      vector_(vector_kernels(target)),
      recurrent_(recurrent_kernels(target)) {
  for (int i = 0; i < kWeightTypeCount; ++i)
    linear_[static_cast<size_t>(i)] = linear_kernels(target, static_cast<WeightType>(i));
}

uint64_t CpuBackend::packed_bytes(WeightType type, int64_t rows, int64_t columns) const {
  return cpu::packed_bytes(type, rows, columns);
}

void CpuBackend::pack(const WeightRows& rows, std::span<std::byte> packed) const {
  cpu::pack(rows, packed);
}

void CpuBackend::unpack(const PackedWeight& matrix, int64_t first, int64_t count,
                        WeightRows& rows) const {
  cpu::unpack(matrix, first, count, rows);
}

uint64_t CpuBackend::scratch_bytes(const OpCall& call) const {
  switch (call.node->op) {
    case Op::kLinear: {
      const PackedWeight& matrix = call.weights[0];
      if (traits(matrix.type).is_float()) return 0;
      const int64_t rows = call.inputs[0].elements() / matrix.columns;
      return static_cast<uint64_t>(activation_bytes(
          linear_[static_cast<size_t>(matrix.type)].activations, rows, matrix.columns));
    }
    case Op::kExpertLinear:
      return expert_scratch_bytes(call);
    case Op::kAttention:
      return static_cast<uint64_t>(pool_.threads()) * sizeof(float) *
             static_cast<uint64_t>(score_floats(call.cache->capacity));
    case Op::kSample: {
      const Tensor& logits = call.inputs[0];
      return sample_rows_bytes(logits.dims[0], logits.last(), pool_.threads());
    }
    default:
      return 0;
  }
}

void CpuBackend::execute(const OpCall& call) {
  switch (call.node->op) {
    case Op::kEmbedding:
      return embedding(call);
    case Op::kRmsNorm:
      return rms_norm(call);
    case Op::kLinear:
      return linear(call);
    case Op::kRotaryTable:
      return rotary_table(call);
    case Op::kRotary:
      return rotary(call);
    case Op::kCacheUpdate:
      return cache_update(call);
    case Op::kAttention:
      return attention(call);
    case Op::kAdd:
      return add(call);
    case Op::kGatedActivation:
      return gated_activation(call);
    case Op::kSelectLast:
      return select_last(call);
    case Op::kSample:
      return sample(call);
    case Op::kScale:
      return scale(call);
    case Op::kSoftCap:
      return soft_cap(call);
    case Op::kSlice:
      return slice(call);
    case Op::kRouter:
      return router(call);
    case Op::kExpertLinear:
      return expert_linear(call);
    case Op::kExpertSum:
      return expert_sum(call);
    case Op::kCausalConv:
      return causal_conv(call);
    case Op::kGatedDeltaRule:
      return gated_delta_rule(call);
    case Op::kReshape:
      return;  // an alias: the runtime gives input and output one address
  }
}

std::unique_ptr<Backend> make_cpu_backend(int threads) {
  return std::make_unique<CpuBackend>(chosen_target(), threads);
}

}  // namespace gumbel::cpu
