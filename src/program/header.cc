#include "program/header.h"

// The tokenizer's bytes begin at a multiple of 64; FlatBuffers asserts 32 unless told otherwise.
#define FLATBUFFERS_MAX_ALIGNMENT 64
#include <flatbuffers/flatbuffers.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/error.h"
#include "program_generated.h"

namespace gumbel {
namespace {

static_assert(std::endian::native == std::endian::little, "program files are little-endian");

// Enumerations are stored as numbers, so the schema's order must be that of the C++ ones.
static_assert(static_cast<int>(schema::DataType_MAX) == static_cast<int>(DataType::kI64));
static_assert(static_cast<int>(schema::WeightType_MAX) == kWeightTypeCount - 1);
static_assert(static_cast<int>(schema::WeightType_Q4_K) == static_cast<int>(WeightType::kQ4_K));
static_assert(static_cast<int>(schema::Op_MAX) == kOpCount - 1);
static_assert(static_cast<int>(schema::Op_Attention) == static_cast<int>(Op::kAttention));
static_assert(static_cast<int>(schema::Op_Sample) == static_cast<int>(Op::kSample));
static_assert(static_cast<int>(schema::Activation_MAX) == static_cast<int>(Activation::kSigmoid));
static_assert(static_cast<int>(schema::HeadOrder_MAX) == static_cast<int>(HeadOrder::kTiled));

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
                                  static_cast<schema::Activation>(node.attributes.activation),
                                  node.attributes.begin, node.attributes.end, node.attributes.top_k,
                                  static_cast<schema::HeadOrder>(node.attributes.head_order));
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

// Copies strings and vectors out of a header. Several fields of a hostile one may refer to the same
// bytes; what is copied is held to the header's own size, so that a small file cannot ask for much
// memory.
class Decoder {
 public:
  explicit Decoder(size_t header_bytes) : left_(header_bytes) {}

  Program program(const schema::Program& stored);

 private:
  void take(size_t bytes) {
    if (bytes > left_)
      fail(ErrorCode::kCorruptFile, "program: expected a header whose fields share no bytes");
    left_ -= bytes;
  }

  // FlatBuffers gives null for an absent field.
  std::string text(const flatbuffers::String* string) {
    if (string == nullptr) return {};
    take(string->size());
    return string->str();
  }

  // A name appears in messages of one line.
  std::string name(const flatbuffers::String* string) {
    constexpr size_t kMaxName = 512;
    std::string result = text(string);
    const bool printable = std::none_of(result.begin(), result.end(), [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7F;
    });
    if (!printable || result.size() > kMaxName)
      fail(ErrorCode::kCorruptFile,
           "program: expected names of at most {} characters without control characters, got one "
           "of {}",
           kMaxName, result.size());
    return result;
  }

  template <typename T>
  std::vector<T> numbers(const flatbuffers::Vector<T>* vector) {
    if (vector == nullptr) return {};
    take(vector->size() * sizeof(T));
    // FlatBuffers' verifier does not see to the alignment of a vector's elements.
    std::vector<T> result(vector->size());
    if (!result.empty()) std::memcpy(result.data(), vector->Data(), result.size() * sizeof(T));
    return result;
  }

  Node node(const schema::Node& stored);
  Method method(const schema::Method& stored);

  size_t left_;
};

Node Decoder::node(const schema::Node& stored) {
  Node node;
  node.op = checked_enum<Op>(stored.op(), kOpCount, "an op");
  node.inputs = numbers(stored.inputs());
  node.weights = numbers(stored.weights());
  node.outputs = numbers(stored.outputs());
  node.state = stored.state();
  node.attributes = {
      stored.epsilon(),
      stored.scale(),
      stored.window(),
      checked_enum<Activation>(stored.activation(), schema::Activation_MAX + 1, "an activation"),
      stored.begin(),
      stored.end(),
      stored.top_k(),
      checked_enum<HeadOrder>(stored.head_order(), schema::HeadOrder_MAX + 1, "a head order")};
  return node;
}

Method Decoder::method(const schema::Method& stored) {
  Method method;
  method.name = name(stored.name());
  for_each(stored.values(), [&](const schema::Value& value) {
    method.values.push_back({name(value.name()), data_type(value.type()), numbers(value.shape())});
  });
  for_each(stored.inputs(), [&](const schema::Input& input) {
    method.inputs.push_back(
        {input.value(), input.has_default() ? std::optional(input.default_value()) : std::nullopt});
  });
  method.outputs = numbers(stored.outputs());
  for_each(stored.nodes(),
           [&](const schema::Node& stored_node) { method.nodes.push_back(node(stored_node)); });
  return method;
}

Program Decoder::program(const schema::Program& stored) {
  Program program;
  program.packing = name(stored.packing());
  for_each(stored.weights(), [&](const schema::Weight& weight) {
    program.weights.push_back(
        {name(weight.name()),
         checked_enum<WeightType>(weight.type(), kWeightTypeCount, "a weight type"),
         numbers(weight.shape()), weight.offset(), weight.bytes(), weight.checksum()});
  });
  for_each(stored.states(), [&](const schema::KvCache& state) {
    program.kv_caches.push_back({name(state.name()), state.kv_heads(), state.key_dim(),
                                 state.value_dim(), data_type(state.type()), state.window()});
  });
  for_each(stored.recurrent_states(), [&](const schema::RecurrentState& state) {
    program.recurrent_states.push_back({name(state.name()), numbers(state.shape())});
  });
  for_each(stored.methods(), [&](const schema::Method& stored_method) {
    program.methods.push_back(method(stored_method));
  });
  for_each(stored.constants(), [&](const schema::Constant& constant) {
    const auto [entry, is_new] =
        program.constants.emplace(name(constant.name()), numbers(constant.values()));
    if (!is_new)
      fail(ErrorCode::kCorruptFile, "program: constant method {} is there twice", entry->first);
  });
  for_each(stored.provenance(), [&](const schema::Provenance& entry) {
    program.provenance.emplace(text(entry.key()), text(entry.value()));
  });
  program.chat_template = text(stored.chat_template());
  if (const schema::Thoughts* thoughts = stored.thoughts())
    program.thoughts = {text(thoughts->begin()), text(thoughts->end()), text(thoughts->header()),
                        thoughts->anywhere()};
  if (stored.tokenizer() != nullptr)
    program.tokenizer = {reinterpret_cast<const std::byte*>(stored.tokenizer()->data()),
                         stored.tokenizer()->size()};
  return program;
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
  const auto states = encode_all(builder, program.kv_caches, [&](const KvCacheSpec& state) {
    return schema::CreateKvCacheDirect(builder, state.name.c_str(), state.kv_heads, state.key_dim,
                                       state.value_dim, static_cast<schema::DataType>(state.type),
                                       state.window);
  });
  const auto recurrent_states =
      encode_all(builder, program.recurrent_states, [&](const RecurrentStateSpec& state) {
        return schema::CreateRecurrentStateDirect(builder, state.name.c_str(), &state.shape);
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
  const auto chat_template = builder.CreateString(program.chat_template);
  const auto thoughts = schema::CreateThoughtsDirect(
      builder, program.thoughts.begin.c_str(), program.thoughts.end.c_str(),
      program.thoughts.header.c_str(), program.thoughts.anywhere);
  builder.ForceVectorAlignment(program.tokenizer.size(), 1, 64);
  const auto tokenizer = builder.CreateVector(
      reinterpret_cast<const uint8_t*>(program.tokenizer.data()), program.tokenizer.size());
  builder.Finish(
      schema::CreateProgram(builder, packing, weights, states, methods, constants, provenance,
                            tokenizer, recurrent_states, chat_template, thoughts),
      schema::ProgramIdentifier());
  const auto* bytes = reinterpret_cast<const std::byte*>(builder.GetBufferPointer());
  return {bytes, bytes + builder.GetSize()};
}

Program decode_header(std::span<const std::byte> header) {
  const auto refuse = [&]() {
    fail(ErrorCode::kCorruptFile, "program: expected a FlatBuffers header, found {} other bytes",
         header.size());
  };
  if (header.size() < 16 || header.size() >= FLATBUFFERS_MAX_BUFFER_SIZE) refuse();
  const auto* bytes = reinterpret_cast<const uint8_t*>(header.data());
  constexpr flatbuffers::uoffset_t kMaxDepth = 16;
  // A table and the offset that leads to it take 8 bytes at least.
  const auto max_tables = static_cast<flatbuffers::uoffset_t>(header.size() / 8);
  flatbuffers::Verifier verifier(bytes, header.size(), kMaxDepth, max_tables);
  if (!schema::VerifyProgramBuffer(verifier)) refuse();
  Program program = Decoder(header.size()).program(*schema::GetProgram(bytes));
  if (!program.tokenizer.empty() && (program.tokenizer.data() - header.data()) % 64 != 0)
    fail(ErrorCode::kCorruptFile, "program: expected the tokenizer at a multiple of 64 bytes");
  return program;
}

}  // namespace gumbel
