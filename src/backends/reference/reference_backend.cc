#include "backends/reference/reference_backend.h"

#include "backends/reference/ops.h"
#include "backends/reference/packing.h"

namespace gumbel {
namespace {

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }

  int64_t rows_per_run() const override { return 1; }

  uint64_t packed_bytes(WeightType type, int64_t rows, int64_t columns) const override {
    return static_cast<uint64_t>(rows) * reference::row_bytes(type, columns);
  }

  void pack(const WeightRows& rows, std::span<std::byte> packed) const override {
    reference::pack_rows(rows, packed);
  }

  void unpack(const PackedWeight& matrix, int64_t first, int64_t count,
              WeightRows& rows) const override {
    const uint64_t offset =
        static_cast<uint64_t>(first) * reference::row_bytes(matrix.type, matrix.columns);
    reference::unpack_rows(matrix.data + offset, matrix.type, count, matrix.columns, rows);
  }

  uint64_t scratch_bytes(const OpCall&) const override { return 0; }

  void execute(const OpCall& call) override {
    switch (call.node->op) {
      case Op::kEmbedding:
        return reference::embedding(call);
      case Op::kRmsNorm:
        return reference::rms_norm(call);
      case Op::kLinear:
        return reference::linear(call);
      case Op::kRotaryTable:
        return reference::rotary_table(call);
      case Op::kRotary:
        return reference::rotary(call);
      case Op::kCacheUpdate:
        return reference::cache_update(call);
      case Op::kAttention:
        return reference::attention(call);
      case Op::kAdd:
        return reference::add(call);
      case Op::kGatedActivation:
        return reference::gated_activation(call);
      case Op::kSelectLast:
        return reference::select_last(call);
      case Op::kSample:
        return reference::sample(call);
      case Op::kScale:
        return reference::scale(call);
      case Op::kSoftCap:
        return reference::soft_cap(call);
      case Op::kSlice:
        return reference::slice(call);
      case Op::kRouter:
        return reference::router(call);
      case Op::kExpertLinear:
        return reference::expert_linear(call);
      case Op::kExpertSum:
        return reference::expert_sum(call);
      case Op::kCausalConv:
        return reference::causal_conv(call);
      case Op::kGatedDeltaRule:
        return reference::gated_delta_rule(call);
      case Op::kReshape:
        return;  // an alias: the runtime gives input and output one address
    }
  }
};

}  // namespace

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<ReferenceBackend>(); }

}  // namespace gumbel
