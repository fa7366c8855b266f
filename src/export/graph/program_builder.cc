#include "export/graph/program_builder.h"

#include <cmath>
#include <utility>

#include "base/error.h"
#include "export/weights/verify_finite.h"

namespace gumbel {
namespace {

// A node before its outputs are known.
Node make_node(Op op, std::vector<int32_t> inputs, std::vector<int32_t> weights = {}) {
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.weights = std::move(weights);
  return node;
}

}  // namespace

std::optional<int32_t> ProgramBuilder::find_weight(const std::string& name) const {
  for (size_t i = 0; i < program.weights.size(); ++i)
    if (program.weights[i].name == name) return static_cast<int32_t>(i);
  return std::nullopt;
}

int32_t ProgramBuilder::add_weight(const std::string& name, WeightType type, Shape shape,
                                   WeightSource source) {
  WeightInfo weight;
  weight.name = name;
  weight.type = type;
  weight.shape = std::move(shape);
  program.weights.push_back(std::move(weight));
  sources.push_back(std::move(source));
  return static_cast<int32_t>(program.weights.size() - 1);
}

int32_t ProgramBuilder::matrix(const std::string& name, const Shape& shape, WeightRole role) {
  if (const auto found = find_weight(name)) return *found;
  const CheckpointTensor& tensor = checkpoint_.tensor(name, shape);
  return add_weight(name, tensor.type(), shape, {&tensor, {}, role});
}

int32_t ProgramBuilder::vector(const std::string& name, int64_t elements) {
  if (const auto found = find_weight(name)) return *found;
  const CheckpointTensor& tensor = checkpoint_.tensor(name, {elements});
  return add_weight(name, WeightType::kF32, {elements}, {&tensor, {}, WeightRole::kProjection});
}

int32_t ProgramBuilder::computed_vector(const std::string& name, std::vector<float> values) {
  if (const auto found = find_weight(name)) return *found;
  for (const float value : values)
    if (!std::isfinite(value))
      fail(ErrorCode::kInvalidArgument, "{}: expected finite values, got {}", name, value);
  const auto elements = static_cast<int64_t>(values.size());
  return add_weight(name, WeightType::kF32, {elements},
                    {nullptr, std::move(values), WeightRole::kProjection});
}

std::vector<float> ProgramBuilder::values(const std::string& name, const Shape& shape) const {
  const CheckpointTensor& tensor = checkpoint_.tensor(name, shape);
  int64_t count = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) count *= shape[i];
  WeightRows rows;
  tensor.read_rows(0, count, rows);
  try {
    verify_finite(rows);
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", name, error.what());
  }
  std::vector<float> result(static_cast<size_t>(rows.rows * rows.columns));
  dequantize_rows(rows, result);
  return result;
}

int32_t ProgramBuilder::kv_cache(const KvCacheSpec& spec) {
  for (size_t i = 0; i < program.kv_caches.size(); ++i)
    if (program.kv_caches[i].name == spec.name) return static_cast<int32_t>(i);
  program.kv_caches.push_back(spec);
  return static_cast<int32_t>(program.kv_caches.size() - 1);
}

int32_t ProgramBuilder::recurrent_state(const RecurrentStateSpec& spec) {
  std::vector<RecurrentStateSpec>& states = program.recurrent_states;
  for (size_t i = 0; i < states.size(); ++i)
    if (states[i].name == spec.name) return static_cast<int32_t>(i);
  states.push_back(spec);
  return static_cast<int32_t>(states.size() - 1);
}

MethodBuilder::MethodBuilder(ProgramBuilder& program, std::string name) : program_(program) {
  method_.name = std::move(name);
}

ValueId MethodBuilder::input(std::string name, DataType type, Shape shape) {
  const auto id = static_cast<ValueId>(method_.values.size());
  method_.values.push_back({std::move(name), type, std::move(shape)});
  method_.inputs.push_back({id, std::nullopt});
  return id;
}

ValueId MethodBuilder::append(Node node) {
  const std::vector<Value> outputs = infer_outputs(program_.program, method_, node);
  const auto id = static_cast<ValueId>(method_.values.size());
  for (const Value& output : outputs) {
    node.outputs.push_back(static_cast<int32_t>(method_.values.size()));
    method_.values.push_back(output);
    method_.values.back().name = fmt::format("{}_{}", gumbel::name(node.op), node.outputs.back());
  }
  method_.nodes.push_back(std::move(node));
  return id;
}

const Shape& MethodBuilder::shape(ValueId value) const {
  return method_.values[static_cast<size_t>(value)].shape;
}

ValueId MethodBuilder::embedding(ValueId tokens, const std::string& table, int64_t vocab,
                                 int64_t width, float scale) {
  Node node = make_node(Op::kEmbedding, {tokens},
                        {program_.matrix(table, {vocab, width}, WeightRole::kTokenTable)});
  node.attributes.scale = scale;
  return append(std::move(node));
}

ValueId MethodBuilder::rms_norm(ValueId x, const std::string& weight, double epsilon) {
  Node node = make_node(Op::kRmsNorm, {x}, {program_.vector(weight, shape(x).back())});
  node.attributes.epsilon = static_cast<float>(epsilon);
  return append(std::move(node));
}

ValueId MethodBuilder::rms_norm(ValueId x, const std::string& name, std::vector<float> weight,
                                double epsilon) {
  Node node = make_node(Op::kRmsNorm, {x}, {program_.computed_vector(name, std::move(weight))});
  node.attributes.epsilon = static_cast<float>(epsilon);
  return append(std::move(node));
}

ValueId MethodBuilder::linear(ValueId x, const std::string& weight, int64_t rows, WeightRole role) {
  return append(
      make_node(Op::kLinear, {x}, {program_.matrix(weight, {rows, shape(x).back()}, role)}));
}

ValueId MethodBuilder::rotary_table(ValueId input_pos, const std::string& name,
                                    std::vector<float> frequencies) {
  const int32_t weight = program_.computed_vector(name, std::move(frequencies));
  return append(make_node(Op::kRotaryTable, {input_pos}, {weight}));
}

ValueId MethodBuilder::rotary(ValueId x, ValueId table) {
  return append(make_node(Op::kRotary, {x, table}));
}

void MethodBuilder::cache_update(ValueId keys, ValueId values, ValueId input_pos, int32_t cache) {
  Node node = make_node(Op::kCacheUpdate, {keys, values, input_pos});
  node.state = cache;
  append(std::move(node));
}

ValueId MethodBuilder::attention(ValueId queries, ValueId input_pos, int32_t cache, float scale) {
  Node node = make_node(Op::kAttention, {queries, input_pos});
  node.state = cache;
  node.attributes.scale = scale;
  node.attributes.window = program_.program.kv_caches[static_cast<size_t>(cache)].window;
  return append(std::move(node));
}

ValueId MethodBuilder::add(ValueId a, ValueId b) { return append(make_node(Op::kAdd, {a, b})); }

ValueId MethodBuilder::gated_activation(ValueId gate, ValueId up, Activation activation) {
  Node node = make_node(Op::kGatedActivation, {gate, up});
  node.attributes.activation = activation;
  return append(std::move(node));
}

ValueId MethodBuilder::scale(ValueId x, double factor) {
  Node node = make_node(Op::kScale, {x});
  node.attributes.scale = static_cast<float>(factor);
  return append(std::move(node));
}

ValueId MethodBuilder::soft_cap(ValueId x, double cap) {
  Node node = make_node(Op::kSoftCap, {x});
  node.attributes.scale = static_cast<float>(cap);
  return append(std::move(node));
}

ValueId MethodBuilder::slice(ValueId x, int64_t begin, int64_t end) {
  Node node = make_node(Op::kSlice, {x});
  node.attributes.begin = begin;
  node.attributes.end = end;
  return append(std::move(node));
}

MethodBuilder::Routing MethodBuilder::router(ValueId scores, int64_t top_k,
                                             const std::string& factors) {
  Node node = make_node(Op::kRouter, {scores});
  if (!factors.empty()) node.weights = {program_.vector(factors, shape(scores).back())};
  node.attributes.top_k = top_k;
  const ValueId experts = append(std::move(node));
  return {experts, experts + 1};
}

ValueId MethodBuilder::expert_linear(ValueId x, const Routing& routing, const std::string& weight,
                                     int64_t expert_count, int64_t rows) {
  const int32_t matrices =
      program_.matrix(weight, {expert_count, rows, shape(x).back()}, WeightRole::kExperts);
  return append(make_node(Op::kExpertLinear, {x, routing.experts}, {matrices}));
}

ValueId MethodBuilder::expert_sum(ValueId x, const Routing& routing) {
  return append(make_node(Op::kExpertSum, {x, routing.weights}));
}

ValueId MethodBuilder::causal_conv(ValueId x, ValueId input_pos, const std::string& name,
                                   std::vector<float> taps) {
  const int64_t channels = shape(x).back();
  const int64_t width = static_cast<int64_t>(taps.size()) / channels;
  Node node =
      make_node(Op::kCausalConv, {x, input_pos}, {program_.computed_vector(name, std::move(taps))});
  node.state = program_.recurrent_state({name + ".state", {width - 1, channels}});
  return append(std::move(node));
}

ValueId MethodBuilder::gated_delta_rule(const DeltaRule& rule, ValueId input_pos) {
  Node node =
      make_node(Op::kGatedDeltaRule, {rule.q, rule.k, rule.v, rule.decay, rule.strength, input_pos},
                {program_.computed_vector(rule.name + ".rate", rule.rate),
                 program_.computed_vector(rule.name + ".bias", rule.bias)});
  node.attributes.head_order = rule.head_order;
  node.state =
      program_.recurrent_state({rule.name, {shape(rule.v)[2], shape(rule.k)[3], shape(rule.v)[3]}});
  return append(std::move(node));
}

ValueId MethodBuilder::select_last(ValueId x) { return append(make_node(Op::kSelectLast, {x})); }

ValueId MethodBuilder::reshape(ValueId x, Shape new_shape) {
  const auto id = static_cast<ValueId>(method_.values.size());
  const DataType type = method_.values[static_cast<size_t>(x)].type;
  method_.values.push_back({fmt::format("reshape_{}", id), type, std::move(new_shape)});
  Node node = make_node(Op::kReshape, {x});
  node.outputs = {id};
  infer_outputs(program_.program, method_, node);
  method_.nodes.push_back(std::move(node));
  return id;
}

ValueId MethodBuilder::split_heads(ValueId x, int64_t heads) {
  return reshape(x, {kBatch, kTime, heads, shape(x).back() / heads});
}

ValueId MethodBuilder::join_heads(ValueId x) {
  return reshape(x, {kBatch, kTime, shape(x)[2] * shape(x)[3]});
}

void MethodBuilder::finish(std::vector<ValueId> outputs) {
  method_.outputs = std::move(outputs);
  program_.program.methods.push_back(std::move(method_));
}

}  // namespace gumbel
