#include "program/program.h"

#include "base/error.h"

namespace gumbel {

const Method* Program::method(std::string_view name) const {
  for (const Method& method : methods)
    if (method.name == name) return &method;
  return nullptr;
}

int64_t Program::constant(std::string_view name) const {
  const auto found = constants.find(std::string(name));
  if (found == constants.end() || found->second.size() != 1)
    fail(ErrorCode::kNotFound, "program: expected a constant method {} of one value", name);
  return found->second.front();
}

std::string_view name(Op op) {
  switch (op) {
    case Op::kEmbedding:
      return "embedding";
    case Op::kRmsNorm:
      return "rms_norm";
    case Op::kLinear:
      return "linear";
    case Op::kRotaryTable:
      return "rotary_table";
    case Op::kRotary:
      return "rotary";
    case Op::kCacheUpdate:
      return "cache_update";
    case Op::kAttention:
      return "attention";
    case Op::kAdd:
      return "add";
    case Op::kGatedActivation:
      return "gated_activation";
    case Op::kSelectLast:
      return "select_last";
    case Op::kReshape:
      return "reshape";
    case Op::kSample:
      return "sample";
    case Op::kScale:
      return "scale";
    case Op::kSoftCap:
      return "soft_cap";
    case Op::kSlice:
      return "slice";
    case Op::kRouter:
      return "router";
    case Op::kExpertLinear:
      return "expert_linear";
    case Op::kExpertSum:
      return "expert_sum";
    case Op::kCausalConv:
      return "causal_conv";
    case Op::kGatedDeltaRule:
      return "gated_delta_rule";
  }
  return "unknown";
}

std::string_view name(DataType type) {
  return type == DataType::kF32 ? "f32" : type == DataType::kF16 ? "f16" : "i64";
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const int64_t dim : shape) {
    if (text.size() > 1) text += ", ";
    text += dim == kBatch    ? "B"
            : dim == kTime   ? "T"
            : dim == kPerRow ? "1 or B"
                             : fmt::format("{}", dim);
  }
  return text + "]";
}

}  // namespace gumbel
