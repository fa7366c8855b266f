#include "program/header.h"

#include <flatbuffers/flatbuffers.h>

#include <utility>

#include "base/error.h"
#include "program_generated.h"

namespace gumbel {
namespace {

// Enumerations are stored as numbers, so the schema's order must be that of the C++ ones.
static_assert(static_cast<int>(schema::DataType_MAX) == static_cast<int>(DataType::kI64));
static_assert(static_cast<int>(schema::WeightType_MAX) == kWeightTypeCount - 1);
static_assert(static_cast<int>(schema::WeightType_Q4_K) == static_cast<int>(WeightType::kQ4_K));
static_assert(static_cast<int>(schema::Op_MAX) == kOpCount - 1);
static_assert(static_cast<int>(schema::Op_Attention) == static_cast<int>(Op::kAttention));
static_assert(static_cast<int>(schema::Activation_MAX) == static_cast<int>(Activation::kGeluTanh));

using Builder = flatbuffers::FlatBufferBuilder;

template <typename T, typename Encode>
auto encode_all(Builder& builder, const T& items, const Encode& encode) {
  std::vector<decltype(encode(*items.begin()))> encoded;
  for (const auto& item : items) encoded.push_back(encode(item));
  return builder.CreateVector(encoded);
}

flatbuffers::Offset<schema::Node> encode_node(Builder& builder, const Node& node) {
  return schema::CreateNodeDirect(builder, static_cast<schema::Op>(node.op), &node.inputs,
                                  &node.weights, &node.outputs, node.state, node.attributes.epsilon,
                                  node.attributes.scale, node.attributes.window,
                                  static_cast<schema::Activation>(node.attributes.activation));
}

flatbuffers::Offset<schema::Method> encode_method(Builder& builder, const Method& method) {
  const auto values = encode_all(builder, method.values, [&](const Value& value) {
    return schema::CreateValueDirect(builder, value.name.c_str(),
                                     static_cast<schema::DataType>(value.type), &value.shape);
  });
  const auto inputs = encode_all(builder, method.inputs, [&](const Input& input) {
    return schema::CreateInput(builder, input.value, input.default_value.has_value(),
                               input.default_value.value_or(0));
  });
  const auto outputs = builder.CreateVector(method.outputs);
  const auto nodes = encode_all(builder, method.nodes,
                                [&](const Node& node) { return encode_node(builder, node); });
  return schema::CreateMethod(builder, builder.CreateString(method.name), values, inputs, outputs,
                              nodes);
}

// What a decoder sees of possibly absent fields: FlatBuffers gives null for an empty one.
std::string text(const flatbuffers::String* string) {
  return string == nullptr ? std::string() : string->str();
}

template <typename T>
std::vector<T> numbers(const flatbuffers::Vector<T>* vector) {
  return vector == nullptr ? std::vector<T>() : std::vector<T>(vector->begin(), vector->end());
}

template <typename T, typename Visit>
void for_each(const flatbuffers::Vector<flatbuffers::Offset<T>>* items, const Visit& visit) {
  if (items == nullptr) return;
  for (const T* item : *items) visit(*item);
}

template <typename Enum, typename Stored>
Enum checked_enum(Stored value, int count, const char* what) {
  if (static_cast<int>(value) < 0 || static_cast<int>(value) >= count)
    fail(ErrorCode::kCorruptFile, "program: expected {} below {}, got {}", what, count,
         static_cast<int>(value));
  return static_cast<Enum>(value);
}

DataType data_type(schema::DataType type) {
  return checked_enum<DataType>(type, schema::DataType_MAX + 1, "a data type");
}

Node decode_node(const schema::Node& stored) {
  Node node;
  node.op = checked_enum<Op>(stored.op(), kOpCount, "an op");
  node.inputs = numbers(stored.inputs());
  node.weights = numbers(stored.weights());
  node.outputs = numbers(stored.outputs());
  node.state = stored.state();
  node.attributes = {
      stored.epsilon(), stored.scale(), stored.window(),
      checked_enum<Activation>(stored.activation(), schema::Activation_MAX + 1, "an activation")};
  return node;
}

Method decode_method(const schema::Method& stored) {
  Method method;
  method.name = text(stored.name());
  for_each(stored.values(), [&](const schema::Value& value) {
    method.values.push_back({text(value.name()), data_type(value.type()), numbers(value.shape())});
  });
  for_each(stored.inputs(), [&](const schema::Input& input) {
    method.inputs.push_back(
        {input.value(), input.has_default() ? std::optional(input.default_value()) : std::nullopt});
  });
  method.outputs = numbers(stored.outputs());
  for_each(stored.nodes(),
           [&](const schema::Node& node) { method.nodes.push_back(decode_node(node)); });
  return method;
}

}  // namespace

std::vector<std::byte> encode_header(const Program& program) {
  Builder builder;
  // Fields that equal their default take their place all the same: the header's length must not
  // depend on offsets and checksums, which are filled in last.
  builder.ForceDefaults(true);
  const auto weights = encode_all(builder, program.weights, [&](const WeightInfo& weight) {
    return schema::CreateWeightDirect(builder, weight.name.c_str(),
                                      static_cast<schema::WeightType>(weight.type), &weight.shape,
                                      weight.offset, weight.bytes, weight.checksum);
  });
  const auto states = encode_all(builder, program.states, [&](const KvCacheSpec& state) {
    return schema::CreateKvCacheDirect(builder, state.name.c_str(), state.kv_heads, state.key_dim,
                                       state.value_dim, static_cast<schema::DataType>(state.type),
                                       state.window);
  });
  const auto methods = encode_all(builder, program.methods, [&](const Method& method) {
    return encode_method(builder, method);
  });
  const auto constants = encode_all(builder, program.constants, [&](const auto& constant) {
    return schema::CreateConstantDirect(builder, constant.first.c_str(), &constant.second);
  });
  const auto provenance = encode_all(builder, program.provenance, [&](const auto& entry) {
    return schema::CreateProvenanceDirect(builder, entry.first.c_str(), entry.second.c_str());
  });
  const auto packing = builder.CreateString(program.packing);
  const auto chat_format = builder.CreateString(program.chat_format);
  builder.ForceVectorAlignment(program.tokenizer.size(), 1, 64);
  const auto tokenizer = builder.CreateVector(
      reinterpret_cast<const uint8_t*>(program.tokenizer.data()), program.tokenizer.size());
  builder.Finish(schema::CreateProgram(builder, packing, weights, states, methods, constants,
                                       provenance, chat_format, tokenizer),
                 schema::ProgramIdentifier());
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {bytes, bytes + builder.GetSize()};
}

Program decode_header(std::span<const std::byte> header) {
  const auto* bytes = reinterpret_cast<const uint8_t*>(header.data());
  constexpr flatbuffers::uoffset_t kMaxDepth = 16;
  constexpr flatbuffers::uoffset_t kMaxTables = 4'000'000;
  flatbuffers::Verifier verifier(bytes, header.size(), kMaxDepth, kMaxTables);
  if (header.size() < 16 || !schema::VerifyProgramBuffer(verifier))
    fail(ErrorCode::kCorruptFile, "program: expected a FlatBuffers header, found {} other bytes",
         header.size());
  const schema::Program& stored = *schema::GetProgram(bytes);
  Program program;
  program.packing = text(stored.packing());
  for_each(stored.weights(), [&](const schema::Weight& weight) {
    program.weights.push_back(
        {text(weight.name()),
         checked_enum<WeightType>(weight.type(), kWeightTypeCount, "a weight type"),
         numbers(weight.shape()), weight.offset(), weight.bytes(), weight.checksum()});
  });
  for_each(stored.states(), [&](const schema::KvCache& state) {
    program.states.push_back({text(state.name()), state.kv_heads(), state.key_dim(),
                              state.value_dim(), data_type(state.type()), state.window()});
  });
  for_each(stored.methods(),
           [&](const schema::Method& method) { program.methods.push_back(decode_method(method)); });
  for_each(stored.constants(), [&](const schema::Constant& constant) {
    if (!program.constants.emplace(text(constant.name()), numbers(constant.values())).second)
      fail(ErrorCode::kCorruptFile, "program: constant method {} is there twice",
           text(constant.name()));
  });
  for_each(stored.provenance(), [&](const schema::Provenance& entry) {
    program.provenance.emplace(text(entry.key()), text(entry.value()));
  });
  program.chat_format = text(stored.chat_format());
  if (stored.tokenizer() != nullptr)
    program.tokenizer = {reinterpret_cast<const std::byte*>(stored.tokenizer()->data()),
                         stored.tokenizer()->size()};
  return program;
}

}  // namespace gumbel
