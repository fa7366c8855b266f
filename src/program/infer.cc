// What each op accepts and what it computes from it.
#include "program/infer.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace gumbel {
namespace {

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
      return {f32({kBatch, kTime, operands.weight(0, 2).columns()})};
    }
    case Op::kRmsNorm: {
      operands.counts(1, 1, false);
      const Shape& x = operands.input(0, DataType::kF32, 0);
      operands.require(x.back() == operands.weight(0, 1).columns(),
                       fmt::format("rows of {} elements", operands.weight(0, 1).columns()), x);
      return {f32(x)};
    }
    case Op::kLinear: {
      operands.counts(1, 1, false);
      Shape x = operands.input(0, DataType::kF32, 0);
      const WeightInfo& weight = operands.weight(0, 2);
      operands.require(x.back() == weight.columns(),
                       fmt::format("rows of {} elements", weight.columns()), x);
      x.back() = weight.rows();
      return {f32(x)};
    }
    case Op::kRotaryTable: {
      operands.counts(1, 1, false);
      operands.input_is_given(0);
      return {f32({kBatch, kTime, 2 * operands.weight(0, 1).columns()})};
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
      const KvCacheSpec& cache = operands.kv_cache();
      operands.input_is(0, DataType::kF32, {kBatch, kTime, cache.kv_heads, cache.key_dim});
      operands.input_is(1, DataType::kF32, {kBatch, kTime, cache.kv_heads, cache.value_dim});
      operands.input_is_given(2);
      return {};
    }
    case Op::kAttention: {
      operands.counts(2, 0, true);
      const KvCacheSpec& cache = operands.kv_cache();
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
    case Op::kAdd: {
      operands.counts(2, 0, false);
      const Shape& a = operands.input(0, DataType::kF32, 0);
      operands.input_is(1, DataType::kF32, a);
      return {f32(a)};
    }
    case Op::kGatedActivation: {
      operands.counts(2, 0, false);
      const Shape& up = operands.input(1, DataType::kF32, 0);
      Shape gate = operands.input(0, DataType::kF32, 0);
      if (gate.back() == 1) gate.back() = up.back();
      operands.require(gate == up,
                       fmt::format("gates {}, or one for each row of them", to_string(up)),
                       operands.input(0).shape);
      return {f32(up)};
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
    case Op::kScale:
    case Op::kSoftCap: {
      operands.counts(1, 0, false);
      const float scale = operands.attributes().scale;
      if (!std::isfinite(scale) || (node.op == Op::kSoftCap && scale <= 0))
        fail(ErrorCode::kCorruptFile, "[{}] expected a scale that is finite{}, got {}",
             name(node.op), node.op == Op::kSoftCap ? " and positive" : "", scale);
      return {f32(operands.input(0, DataType::kF32, 0))};
    }
    case Op::kSlice: {
      operands.counts(1, 0, false);
      Shape x = operands.input(0, DataType::kF32, 0);
      const auto [begin, end] = std::pair(operands.attributes().begin, operands.attributes().end);
      operands.require(x.back() > 0 && 0 <= begin && begin < end && end <= x.back(),
                       fmt::format("rows that have elements {} to {}", begin, end), x);
      x.back() = end - begin;
      return {f32(std::move(x))};
    }
    case Op::kRouter:
      return infer_router(operands);
    case Op::kExpertLinear:
      return {infer_expert_linear(operands)};
    case Op::kExpertSum:
      return {infer_expert_sum(operands)};
    case Op::kCausalConv:
      return {infer_causal_conv(operands)};
    case Op::kGatedDeltaRule:
      return {infer_gated_delta_rule(operands)};
  }
  fail(ErrorCode::kCorruptFile, "expected an op below {}, got {}", kOpCount,
       static_cast<int>(node.op));
}

}  // namespace gumbel
