// The checks that let a program from a hostile file be planned and run.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "base/error.h"
#include "program/program.h"

namespace gumbel {
namespace {

// Bounds of what a program may ask for; every product of a shape's dimensions then fits int64.
constexpr int64_t kMaxDimension = int64_t{1} << 31;
constexpr int64_t kMaxElements = int64_t{1} << 42;
constexpr int64_t kMaxSequenceLength = int64_t{1} << 24;
constexpr int64_t kMaxPrefillChunk = 4096;

template <typename... Args>
[[noreturn]] void corrupt(fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorCode::kCorruptFile,
              "program: " + fmt::format(format, std::forward<Args>(args)...));
}

void check_shape(const Shape& shape, bool symbols_allowed, const std::string& what) {
  if (shape.empty() || shape.size() > kMaxRank)
    corrupt("{}: expected 1 to {} dimensions, got {}", what, kMaxRank, shape.size());
  if (shape == Shape{kPerRow} && symbols_allowed) return;
  int64_t elements = 1;
  for (const int64_t dim : shape) {
    if (symbols_allowed && (dim == kBatch || dim == kTime)) continue;
    if (dim <= 0 || dim > kMaxDimension)
      corrupt("{}: expected dimensions of 1 to {}, got {}", what, kMaxDimension, to_string(shape));
    // Both factors are below 2^42 and 2^31: the product is checked before it could overflow.
    if (elements > kMaxElements / dim)
      corrupt("{}: expected at most {} elements, got {}", what, kMaxElements, to_string(shape));
    elements *= dim;
  }
}

void check_weights(const Program& program, uint64_t file_bytes) {
  std::set<std::string> names;
  std::vector<std::pair<uint64_t, uint64_t>> spans;
  for (const WeightInfo& weight : program.weights) {
    if (!names.insert(weight.name).second) corrupt("weight {} is there twice", weight.name);
    if (static_cast<int>(weight.type) >= kWeightTypeCount)
      corrupt("weight {}: unknown type {}", weight.name, static_cast<int>(weight.type));
    check_shape(weight.shape, false, "weight " + weight.name);
    const bool vector = weight.shape.size() == 1;
    if (weight.shape.size() > 3 || (vector && weight.type != WeightType::kF32))
      corrupt("weight {}: expected a matrix, several, or a vector of f32, got {} {}", weight.name,
              traits(weight.type).name, to_string(weight.shape));
    if (weight.columns() % traits(weight.type).block != 0)
      corrupt("weight {}: expected rows of whole {} blocks, got {}", weight.name,
              traits(weight.type).name, to_string(weight.shape));
    if (vector && weight.bytes != static_cast<uint64_t>(weight.columns()) * sizeof(float))
      corrupt("weight {}: expected {} bytes, got {}", weight.name,
              static_cast<uint64_t>(weight.columns()) * sizeof(float), weight.bytes);
    if (weight.offset % kSegmentAlignment != 0 || weight.bytes > file_bytes ||
        weight.offset > file_bytes - weight.bytes)
      corrupt("weight {}: expected a segment on a page within {} bytes, got {} bytes at {}",
              weight.name, file_bytes, weight.bytes, weight.offset);
    spans.emplace_back(weight.offset, weight.bytes);
  }
  std::sort(spans.begin(), spans.end());
  for (size_t i = 1; i < spans.size(); ++i)
    if (spans[i - 1].first + spans[i - 1].second > spans[i].first)
      corrupt("two weights overlap at byte {}", spans[i].first);
}

void check_kv_caches(const Program& program) {
  for (const KvCacheSpec& state : program.kv_caches) {
    if (state.type != DataType::kF16 && state.type != DataType::kF32)
      corrupt("state {}: expected f16 or f32", state.name);
    check_shape({state.kv_heads, state.key_dim}, false, "state " + state.name);
    check_shape({state.kv_heads, state.value_dim}, false, "state " + state.name);
    if (state.window < 0 || state.window > kMaxSequenceLength)
      corrupt("state {}: expected a window of 0 to {}, got {}", state.name, kMaxSequenceLength,
              state.window);
  }
}

void check_recurrent_states(const Program& program) {
  for (const RecurrentStateSpec& state : program.recurrent_states)
    check_shape(state.shape, false, "state " + state.name);
}

void check_indices(const std::vector<int32_t>& indices, size_t count, std::string_view what,
                   const Method& method) {
  for (const int32_t i : indices)
    if (i < 0 || static_cast<size_t>(i) >= count)
      corrupt("method {}: expected {} below {}, got {}", method.name, what, count, i);
}

// A default must be a number that its type has: converting another one would be undefined.
void check_default(const Method& method, const Value& value, double number) {
  if (value.shape != Shape{kPerRow})
    corrupt("method {}: input {} has a default but not the shape [1 or B]", method.name,
            value.name);
  const bool fits = value.type == DataType::kI64
                        ? std::abs(number) <= 0x1p53 && number == std::trunc(number)
                        : std::abs(number) <= std::numeric_limits<float>::max();
  if (!fits)
    corrupt("method {}: input {}: expected a default of type {}, got {}", method.name, value.name,
            name(value.type), number);
}

void check_method(const Program& program, const Method& method) {
  for (const Value& value : method.values) {
    if (value.type != DataType::kF32 && value.type != DataType::kI64)
      corrupt("method {}: value {}: expected f32 or i64", method.name, value.name);
    check_shape(value.shape, true, fmt::format("method {}: value {}", method.name, value.name));
  }
  std::vector<bool> defined(method.values.size());
  const auto define = [&](int32_t value) {
    if (defined[static_cast<size_t>(value)])
      corrupt("method {}: value {} is defined twice", method.name, value);
    defined[static_cast<size_t>(value)] = true;
  };
  const auto require_defined = [&](const std::vector<int32_t>& values) {
    check_indices(values, method.values.size(), "a value", method);
    for (const int32_t value : values)
      if (!defined[static_cast<size_t>(value)])
        corrupt("method {}: value {} is used before it is computed", method.name, value);
  };

  bool defaults_began = false;
  std::set<std::string> names;
  for (const Input& input : method.inputs) {
    check_indices({input.value}, method.values.size(), "a value", method);
    define(input.value);
    const Value& value = method.values[static_cast<size_t>(input.value)];
    if (!names.insert(value.name).second)
      corrupt("method {}: input {} is there twice", method.name, value.name);
    if (input.default_value.has_value()) check_default(method, value, *input.default_value);
    if (defaults_began && !input.default_value.has_value())
      corrupt("method {}: input {} follows one with a default and has none", method.name,
              value.name);
    defaults_began = input.default_value.has_value();
  }
  for (const Node& node : method.nodes) {
    require_defined(node.inputs);
    check_indices(node.weights, program.weights.size(), "a weight", method);
    if (node.state >= 0)
      check_indices(
          {node.state},
          has_recurrent_state(node.op) ? program.recurrent_states.size() : program.kv_caches.size(),
          "a state", method);
    check_indices(node.outputs, method.values.size(), "a value", method);
    const std::vector<Value> outputs = infer_outputs(program, method, node);
    if (outputs.size() != node.outputs.size())
      corrupt("method {}: [{}] expected {} outputs, got {}", method.name, name(node.op),
              outputs.size(), node.outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Value& declared = method.values[static_cast<size_t>(node.outputs[i])];
      if (declared.type != outputs[i].type || declared.shape != outputs[i].shape)
        corrupt("method {}: [{}] computes {} {}, but value {} is {} {}", method.name, name(node.op),
                name(outputs[i].type), to_string(outputs[i].shape), declared.name,
                name(declared.type), to_string(declared.shape));
      define(node.outputs[i]);
    }
  }
  require_defined(method.outputs);
}

void check_constants(const Program& program) {
  const auto one = [&](const char* constant) {
    const auto found = program.constants.find(constant);
    if (found == program.constants.end() || found->second.size() != 1)
      corrupt("expected a constant method {} of one value", constant);
    return found->second.front();
  };
  const int64_t max_length = one("get_max_seq_len");
  const int64_t vocab = one("get_vocab_size");
  const int64_t min_chunk = one("get_min_prefill_chunk");
  const int64_t max_chunk = one("get_max_prefill_chunk");
  if (max_length < 1 || max_length > kMaxSequenceLength)
    corrupt("expected get_max_seq_len from 1 to {}, got {}", kMaxSequenceLength, max_length);
  if (vocab < 1 || vocab >= (1 << 23))
    corrupt("expected get_vocab_size from 1 to {}, got {}", (1 << 23) - 1, vocab);
  if (min_chunk < 1 || max_chunk < min_chunk || max_chunk > std::min(max_length, kMaxPrefillChunk))
    corrupt("expected prefill chunks from 1 to {}, got {} to {}",
            std::min(max_length, kMaxPrefillChunk), min_chunk, max_chunk);
  if (const int64_t layers = one("get_n_layers"); layers < 0)
    corrupt("expected get_n_layers to be at least 0, got {}", layers);
  for (const char* flag : {"use_kv_cache", "use_sampling"})
    if (const int64_t value = one(flag); value != 0 && value != 1)
      corrupt("expected {} to be 0 or 1, got {}", flag, value);
  const auto eos = program.constants.find("get_eos_ids");
  if (eos == program.constants.end()) corrupt("expected a constant method get_eos_ids");
  for (const int64_t id : eos->second)
    if (id < 0 || id >= vocab) corrupt("expected get_eos_ids from 0 to {}, got {}", vocab - 1, id);
  if (const int64_t bos = one("get_bos_id"); bos < -1 || bos >= vocab)
    corrupt("expected get_bos_id from -1 (none) to {}, got {}", vocab - 1, bos);
}

}  // namespace

void verify(const Program& program, uint64_t file_bytes) {
  check_weights(program, file_bytes);
  check_kv_caches(program);
  check_recurrent_states(program);
  std::set<std::string> names;
  for (const Method& method : program.methods) {
    if (!names.insert(method.name).second) corrupt("method {} is there twice", method.name);
    check_method(program, method);
  }
  check_constants(program);
}

}  // namespace gumbel
