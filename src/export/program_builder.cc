#include "export/program_builder.h"

#include <utility>

#include "base/error.h"

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

int32_t ProgramBuilder::matrix(const std::string& name, int64_t rows, int64_t columns) {
  if (const auto found = find_weight(name)) return *found;
  const CheckpointTensor& tensor = checkpoint_.tensor(name, {rows, columns});
  return add_weight(name, tensor.type(), {rows, columns}, {&tensor, {}});
}

int32_t ProgramBuilder::vector(const std::string& name, int64_t elements) {
  if (const auto found = find_weight(name)) return *found;
  const CheckpointTensor& tensor = checkpoint_.tensor(name, {elements});
  return add_weight(name, WeightType::kF32, {elements}, {&tensor, {}});
}

int32_t ProgramBuilder::computed_vector(const std::string& name, std::vector<float> values) {
  if (const auto found = find_weight(name)) return *found;
  const auto elements = static_cast<int64_t>(values.size());
  return add_weight(name, WeightType::kF32, {elements}, {nullptr, std::move(values)});
}

int32_t ProgramBuilder::kv_cache(const KvCacheSpec& spec) {
  for (size_t i = 0; i < program.states.size(); ++i)
    if (program.states[i].name == spec.name) return static_cast<int32_t>(i);
  program.states.push_back(spec);
  return static_cast<int32_t>(program.states.size() - 1);
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
  if (!outputs.empty()) {
    method_.values.push_back(outputs.front());
    method_.values.back().name = fmt::format("{}_{}", gumbel::name(node.op), id);
    node.outputs = {id};
  }
  method_.nodes.push_back(std::move(node));
  return id;
}

const Shape& MethodBuilder::shape(ValueId value) const {
  return method_.values[static_cast<size_t>(value)].shape;
}

ValueId MethodBuilder::embedding(ValueId tokens, const std::string& table, int64_t vocab,
                                 int64_t width, float scale) {
  Node node = make_node(Op::kEmbedding, {tokens}, {program_.matrix(table, vocab, width)});
  node.attributes.scale = scale;
  return append(std::move(node));
}

ValueId MethodBuilder::rms_norm(ValueId x, const std::string& weight, double epsilon) {
  Node node = make_node(Op::kRmsNorm, {x}, {program_.vector(weight, shape(x).back())});
  node.attributes.epsilon = static_cast<float>(epsilon);
  return append(std::move(node));
}

ValueId MethodBuilder::linear(ValueId x, const std::string& weight, int64_t rows) {
  return append(make_node(Op::kLinear, {x}, {program_.matrix(weight, rows, shape(x).back())}));
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
  node.attributes.window = program_.program.states[static_cast<size_t>(cache)].window;
  return append(std::move(node));
}

ValueId MethodBuilder::add(ValueId a, ValueId b) { return append(make_node(Op::kAdd, {a, b})); }

ValueId MethodBuilder::gated_activation(ValueId gate, ValueId up, Activation activation) {
  Node node = make_node(Op::kGatedActivation, {gate, up});
  node.attributes.activation = activation;
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
