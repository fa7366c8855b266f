// What the inference of each op's outputs works on; for the infer*.cc files of this folder.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "program/program.h"

namespace gumbel {

/// The operands of one node, with checks that throw Error(kCorruptFile) naming the op.
class Operands {
 public:
  Operands(const Program& program, const Method& method, const Node& node)
      : program_(program), method_(method), node_(node) {}

  void counts(size_t inputs, size_t weights, bool state) const {
    counts(inputs, inputs, weights, state);
  }

  void counts(size_t least, size_t most, size_t weights, bool state) const {
    const size_t n = node_.inputs.size();
    if (n < least || n > most)
      fail(ErrorCode::kCorruptFile, "[{}] expected {} inputs, got {}", name(node_.op),
           least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most), n);
    if (node_.weights.size() != weights)
      fail(ErrorCode::kCorruptFile, "[{}] expected {} weights, got {}", name(node_.op), weights,
           node_.weights.size());
    if ((node_.state >= 0) != state)
      fail(ErrorCode::kCorruptFile, "[{}] expected {} state, got {}", name(node_.op),
           state ? "a" : "no", node_.state);
  }

  const Value& input(size_t i) const {
    return method_.values[static_cast<size_t>(node_.inputs[i])];
  }

  /// Input i, which must have this type and, where rank > 0, that many dimensions.
  const Shape& input(size_t i, DataType type, size_t rank) const {
    const Value& value = input(i);
    if (value.type != type || (rank > 0 && value.shape.size() != rank))
      fail(ErrorCode::kCorruptFile, "[{}] input {}: expected {}{}, got {} {}", name(node_.op), i,
           name(type), rank > 0 ? fmt::format(" of {} dimensions", rank) : "", name(value.type),
           to_string(value.shape));
    return value.shape;
  }

  void input_is(size_t i, DataType type, const Shape& shape) const {
    const Value& value = input(i);
    if (value.type != type || value.shape != shape)
      fail(ErrorCode::kCorruptFile, "[{}] input {}: expected {} {}, got {} {}", name(node_.op), i,
           name(type), to_string(shape), name(value.type), to_string(value.shape));
  }

  // Input i, which must be tokens or positions that the method's caller gives: their values are
  // checked before a call, which a computed value's could not be.
  void input_is_given(size_t i) const {
    input_is(i, DataType::kI64, {kBatch, kTime});
    for (const Input& given : method_.inputs)
      if (given.value == node_.inputs[i]) return;
    fail(ErrorCode::kCorruptFile, "[{}] input {}: expected an input of the method, got value {}",
         name(node_.op), i, input(i).name);
  }

  /// Weight i, which must have that many dimensions.
  const WeightInfo& weight(size_t i, size_t rank) const {
    const WeightInfo& weight = program_.weights[static_cast<size_t>(node_.weights[i])];
    if (weight.shape.size() != rank)
      fail(ErrorCode::kCorruptFile, "[{}] weight {}: expected {} dimensions, got {}",
           name(node_.op), weight.name, rank, to_string(weight.shape));
    return weight;
  }

  // A [kPerRow] value has 1 or B elements, whichever its caller chose.
  void refuse_per_row() const {
    for (size_t i = 0; i < node_.inputs.size(); ++i)
      require(input(i).shape[0] != kPerRow, "inputs of known size", input(i).shape);
  }

  size_t input_count() const { return node_.inputs.size(); }
  size_t weight_count() const { return node_.weights.size(); }

  const KvCacheSpec& kv_cache() const {
    return program_.kv_caches[static_cast<size_t>(node_.state)];
  }

  /// The recurrent state, which must have that shape.
  void state_is(const Shape& shape) const {
    const RecurrentStateSpec& state = program_.recurrent_states[static_cast<size_t>(node_.state)];
    if (state.shape != shape)
      fail(ErrorCode::kCorruptFile, "[{}] state {}: expected {}, got {}", name(node_.op),
           state.name, to_string(shape), to_string(state.shape));
  }

  /// Weight i, which must be a vector of that many elements.
  void vector_is(size_t i, int64_t elements) const {
    if (const WeightInfo& vector = weight(i, 1); vector.columns() != elements)
      fail(ErrorCode::kCorruptFile, "[{}] weight {}: expected {} elements, got {}", name(node_.op),
           vector.name, elements, vector.columns());
  }

  /// The node before this one that computes input i as its first output, or null. Nodes after it
  /// have not been checked yet.
  const Node* producer(size_t i) const {
    for (const Node& node : method_.nodes) {
      if (&node == &node_) break;
      if (!node.outputs.empty() && node.outputs[0] == node_.inputs[i]) return &node;
    }
    return nullptr;
  }

  const Shape& shape_of(int32_t value) const {
    return method_.values[static_cast<size_t>(value)].shape;
  }

  void require(bool holds, std::string_view expected, const Shape& got) const {
    if (!holds)
      fail(ErrorCode::kCorruptFile, "[{}] expected {}, got {}", name(node_.op), expected,
           to_string(got));
  }

  const Attributes& attributes() const { return node_.attributes; }

 private:
  const Program& program_;
  const Method& method_;
  const Node& node_;
};

inline Value f32(Shape shape) { return {"", DataType::kF32, std::move(shape)}; }

// The outputs of the ops that stand in files of their own.
std::vector<Value> infer_router(const Operands& operands);
Value infer_expert_linear(const Operands& operands);
Value infer_expert_sum(const Operands& operands);
Value infer_causal_conv(const Operands& operands);
Value infer_gated_delta_rule(const Operands& operands);

}  // namespace gumbel
