// What each op accepts and what it computes from it.
#include <algorithm>
#include <utility>

#include "base/error.h"
#include "program/program.h"

namespace gumbel {
namespace {

// The operands of one node, with checks that name the op in their message.
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

  const WeightInfo& weight(size_t rank) const {
    const WeightInfo& weight = program_.weights[static_cast<size_t>(node_.weights[0])];
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

  const KvCacheSpec& state() const { return program_.states[static_cast<size_t>(node_.state)]; }

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

// Elements of a shape without its symbolic dimensions, which must agree apart.
int64_t known_elements(const Shape& shape) {
  int64_t product = 1;
  for (const int64_t dim : shape)
    if (dim > 0) product *= dim;
  return product;
}

bool same_symbols(const Shape& a, const Shape& b) {
  const auto count = [](const Shape& shape, int64_t symbol) {
    return std::count(shape.begin(), shape.end(), symbol);
  };
  return count(a, kBatch) == count(b, kBatch) && count(a, kTime) == count(b, kTime);
}

Value f32(Shape shape) { return {"", DataType::kF32, std::move(shape)}; }

Value infer_sample(const Operands& operands) {
  operands.counts(6, 7, 0, false);
  const Shape& logits = operands.input(0, DataType::kF32, 0);
  operands.require((logits.size() == 2 || (logits.size() == 3 && logits[1] == kTime)) &&
                       logits[0] == kBatch && logits.back() > 0 && logits.back() < (1 << 23),
                   "logits [B, V] or [B, T, V] with V below 2^23", logits);
  constexpr DataType kTypes[] = {DataType::kF32, DataType::kI64, DataType::kF32, DataType::kI64,
                                 DataType::kF32};
  for (size_t i = 0; i < 5; ++i) {
    operands.input_is(i + 1, kTypes[i], {kPerRow});
  }
  if (operands.input_count() == 7) operands.input_is_given(6);
  return {"", DataType::kI64, {kBatch}};
}

}  // namespace

std::vector<Value> infer_outputs(const Program& program, const Method& method, const Node& node) {
  const Operands operands(program, method, node);
  if (node.op != Op::kSample) operands.refuse_per_row();
  switch (node.op) {
    case Op::kEmbedding: {
      operands.counts(1, 1, false);
      operands.input_is_given(0);
      return {f32({kBatch, kTime, operands.weight(2).columns()})};
    }
    case Op::kRmsNorm: {
      operands.counts(1, 1, false);
      const Shape& x = operands.input(0, DataType::kF32, 0);
      operands.require(x.back() == operands.weight(1).columns(),
                       fmt::format("rows of {} elements", operands.weight(1).columns()), x);
      return {f32(x)};
    }
    case Op::kLinear: {
      operands.counts(1, 1, false);
      Shape x = operands.input(0, DataType::kF32, 0);
      const WeightInfo& weight = operands.weight(2);
      operands.require(x.back() == weight.columns(),
                       fmt::format("rows of {} elements", weight.columns()), x);
      x.back() = weight.rows();
      return {f32(x)};
    }
    case Op::kRotaryTable: {
      operands.counts(1, 1, false);
      operands.input_is_given(0);
      return {f32({kBatch, kTime, 2 * operands.weight(1).columns()})};
    }
    case Op::kRotary: {
      operands.counts(2, 0, false);
      const Shape& x = operands.input(0, DataType::kF32, 4);
      const Shape& table = operands.input(1, DataType::kF32, 3);
      operands.require(x[0] == kBatch && x[1] == kTime && x[2] > 0 && x[3] > 0,
                       "x [B, T, heads, D]", x);
      operands.require(table[0] == kBatch && table[1] == kTime && table[2] > 0 &&
                           table[2] % 2 == 0 && table[2] <= x[3],
                       fmt::format("a table [B, T, even and at most {}]", x[3]), table);
      return {f32(x)};
    }
    case Op::kCacheUpdate: {
      operands.counts(3, 0, true);
      const KvCacheSpec& cache = operands.state();
      operands.input_is(0, DataType::kF32, {kBatch, kTime, cache.kv_heads, cache.key_dim});
      operands.input_is(1, DataType::kF32, {kBatch, kTime, cache.kv_heads, cache.value_dim});
      operands.input_is_given(2);
      return {};
    }
    case Op::kAttention: {
      operands.counts(2, 0, true);
      const KvCacheSpec& cache = operands.state();
      const Shape& q = operands.input(0, DataType::kF32, 4);
      operands.require(
          q[0] == kBatch && q[1] == kTime && q[2] > 0 && q[2] % cache.kv_heads == 0 &&
              q[3] == cache.key_dim,
          fmt::format("queries [B, T, a multiple of {}, {}]", cache.kv_heads, cache.key_dim), q);
      operands.input_is_given(1);
      const int64_t window = operands.attributes().window;
      if (window != cache.window)
        fail(ErrorCode::kCorruptFile, "[attention] expected the window {} of its state {}, got {}",
             cache.window, cache.name, window);
      return {f32({kBatch, kTime, q[2], cache.value_dim})};
    }
    case Op::kAdd:
    case Op::kGatedActivation: {
      operands.counts(2, 0, false);
      const Shape& a = operands.input(0, DataType::kF32, 0);
      operands.input_is(1, DataType::kF32, a);
      return {f32(a)};
    }
    case Op::kSelectLast: {
      operands.counts(1, 0, false);
      const Shape& x = operands.input(0, DataType::kF32, 3);
      operands.require(x[0] == kBatch && x[1] == kTime && x[2] > 0, "x [B, T, D]", x);
      return {f32({kBatch, x[2]})};
    }
    case Op::kReshape: {
      operands.counts(1, 0, false);
      // The output's shape is its own statement; it must hold the same elements.
      if (node.outputs.size() != 1)
        fail(ErrorCode::kCorruptFile, "[reshape] expected 1 output, got {}", node.outputs.size());
      const Value& x = operands.input(0);
      const Value& y = method.values[static_cast<size_t>(node.outputs[0])];
      operands.require(y.shape != Shape{kPerRow} &&
                           known_elements(x.shape) == known_elements(y.shape) &&
                           same_symbols(x.shape, y.shape),
                       fmt::format("a shape of the elements of {}", to_string(x.shape)), y.shape);
      return {{"", x.type, y.shape}};
    }
    case Op::kSample:
      return {infer_sample(operands)};
  }
  fail(ErrorCode::kCorruptFile, "expected an op below {}, got {}", kOpCount,
       static_cast<int>(node.op));
}

}  // namespace gumbel
