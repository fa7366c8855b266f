#include <fmt/format.h>

#include <functional>

#include "export/test_files.h"
#include "program/program.h"

namespace gumbel {
namespace {

using test::expect_error;

const Value kTokens{"tokens", DataType::kI64, {kBatch, kTime}};

Value f32(Shape shape) { return {"x", DataType::kF32, std::move(shape)}; }
Value i64(Shape shape) { return {"n", DataType::kI64, std::move(shape)}; }

struct Case {
  Op op;
  std::vector<Value> operands;
  std::vector<Shape> weights;
  bool state;
  // What comes out; nothing: refused with a message that has `message` in it.
  std::optional<std::vector<Value>> outputs;
  const char* message = "";
};

// The cache of all cases: 2 heads, keys of 8, values of 6, a window of 5.
std::vector<Value> infer(const Case& c, const Value* declared = nullptr, int64_t window = 5,
                         bool operands_are_inputs = true) {
  Program program;
  program.kv_caches = {{"cache", 2, 8, 6, DataType::kF16, 5}};
  for (const Shape& shape : c.weights) program.weights.push_back({"w", WeightType::kF32, shape});
  Method method;
  Node node;
  node.op = c.op;
  node.state = c.state ? 0 : -1;
  node.attributes.window = window;
  for (const Value& value : c.operands) {
    const auto id = static_cast<int32_t>(method.values.size());
    method.values.push_back(value);
    if (operands_are_inputs) method.inputs.push_back({id, std::nullopt});
    node.inputs.push_back(id);
  }
  for (size_t i = 0; i < c.weights.size(); ++i) node.weights.push_back(static_cast<int32_t>(i));
  if (declared != nullptr) {
    node.outputs = {static_cast<int32_t>(method.values.size())};
    method.values.push_back(*declared);
  }
  return infer_outputs(program, method, node);
}

void check(const std::vector<Case>& cases) {
  for (size_t i = 0; i < cases.size(); ++i) {
    const Case& c = cases[i];
    SCOPED_TRACE(testing::Message() << name(c.op) << ", case " << i);
    if (!c.outputs) {
      expect_error(ErrorCode::kCorruptFile, fmt::format("[{}] ", name(c.op)), [&] { infer(c); });
      expect_error(ErrorCode::kCorruptFile, c.message, [&] { infer(c); });
      continue;
    }
    const std::vector<Value> outputs = infer(c);
    ASSERT_EQ(outputs.size(), c.outputs->size());
    for (size_t k = 0; k < outputs.size(); ++k) {
      EXPECT_EQ(outputs[k].type, (*c.outputs)[k].type);
      EXPECT_EQ(outputs[k].shape, (*c.outputs)[k].shape);
    }
  }
}

using Values = std::vector<Value>;

TEST(InferOutputs, Embedding) {
  check({
      {Op::kEmbedding, {kTokens}, {{50, 8}}, false, Values{f32({kBatch, kTime, 8})}},
      {Op::kEmbedding, {kTokens}, {{8}}, false, {}, "expected 2 dimensions"},
      {Op::kEmbedding, {f32({kBatch, kTime})}, {{50, 8}}, false, {}, "input 0: expected i64"},
      {Op::kEmbedding, {i64({kTime, kBatch})}, {{50, 8}}, false, {}, "expected i64 [B, T]"},
      {Op::kEmbedding, {kTokens}, {}, false, {}, "expected 1 weights, got 0"},
      {Op::kEmbedding, {}, {{50, 8}}, false, {}, "expected 1 inputs, got 0"},
      {Op::kEmbedding, {kTokens}, {{50, 8}}, true, {}, "expected no state"},
  });
}

TEST(InferOutputs, RmsNormAndLinear) {
  check({
      {Op::kRmsNorm, {f32({kBatch, kTime, 8})}, {{8}}, false, Values{f32({kBatch, kTime, 8})}},
      {Op::kRmsNorm, {f32({8})}, {{8}}, false, Values{f32({8})}},
      {Op::kRmsNorm, {f32({kBatch, 7})}, {{8}}, false, {}, "rows of 8 elements, got [B, 7]"},
      {Op::kRmsNorm, {f32({8, kBatch})}, {{8}}, false, {}, "rows of 8 elements"},
      {Op::kRmsNorm, {f32({kBatch, 8})}, {{8, 8}}, false, {}, "expected 1 dimensions"},
      {Op::kRmsNorm, {i64({kBatch, 8})}, {{8}}, false, {}, "expected f32"},
      {Op::kRmsNorm, {f32({kPerRow})}, {{8}}, false, {}, "inputs of known size"},
      {Op::kLinear, {f32({kBatch, kTime, 8})}, {{3, 8}}, false, Values{f32({kBatch, kTime, 3})}},
      {Op::kLinear, {f32({kBatch, 3})}, {{3, 8}}, false, {}, "rows of 8 elements"},
      {Op::kLinear, {f32({kBatch, kTime})}, {{3, 8}}, false, {}, "rows of 8 elements"},
      {Op::kLinear, {f32({kBatch, 8})}, {{8}}, false, {}, "expected 2 dimensions"},
  });
}

TEST(InferOutputs, Rotary) {
  const Value x = f32({kBatch, kTime, 4, 8});
  check({
      {Op::kRotaryTable, {kTokens}, {{4}}, false, Values{f32({kBatch, kTime, 8})}},
      {Op::kRotaryTable, {kTokens}, {{4, 1}}, false, {}, "expected 1 dimensions"},
      {Op::kRotaryTable, {f32({kBatch, kTime})}, {{4}}, false, {}, "expected i64"},
      {Op::kRotary, {x, f32({kBatch, kTime, 8})}, {}, false, Values{x}},
      {Op::kRotary, {x, f32({kBatch, kTime, 2})}, {}, false, Values{x}},
      {Op::kRotary, {x, f32({kBatch, kTime, 10})}, {}, false, {}, "even and at most 8"},
      {Op::kRotary, {x, f32({kBatch, kTime, 7})}, {}, false, {}, "even and at most 8"},
      // T is -2: even, below 8, and as large as a caller pleases.
      {Op::kRotary, {x, f32({kBatch, kTime, kTime})}, {}, false, {}, "even and at most 8"},
      {Op::kRotary, {x, f32({kTime, kBatch, 8})}, {}, false, {}, "even and at most 8"},
      {Op::kRotary,
       {f32({kBatch, kTime, kTime, 8}), f32({kBatch, kTime, 8})},
       {},
       false,
       {},
       "x [B, T, heads, D]"},
      {Op::kRotary,
       {f32({kBatch, kTime, 32}), f32({kBatch, kTime, 8})},
       {},
       false,
       {},
       "4 dimensions"},
  });
}

TEST(InferOutputs, CacheUpdateAndAttention) {
  const Value k = f32({kBatch, kTime, 2, 8});
  const Value v = f32({kBatch, kTime, 2, 6});
  const Value q = f32({kBatch, kTime, 4, 8});
  check({
      {Op::kCacheUpdate, {k, v, kTokens}, {}, true, Values{}},
      {Op::kCacheUpdate, {v, k, kTokens}, {}, true, {}, "input 0: expected f32 [B, T, 2, 8]"},
      {Op::kCacheUpdate, {k, k, kTokens}, {}, true, {}, "input 1: expected f32 [B, T, 2, 6]"},
      {Op::kCacheUpdate, {k, v, i64({kBatch, 1})}, {}, true, {}, "input 2: expected i64"},
      {Op::kCacheUpdate, {k, v, kTokens}, {}, false, {}, "expected a state"},
      {Op::kAttention, {q, kTokens}, {}, true, Values{f32({kBatch, kTime, 4, 6})}},
      {Op::kAttention, {f32({kBatch, kTime, 3, 8}), kTokens}, {}, true, {}, "a multiple of 2, 8"},
      {Op::kAttention, {f32({kBatch, kTime, kTime, 8}), kTokens}, {}, true, {}, "a multiple of 2"},
      {Op::kAttention, {f32({kBatch, kTime, 4, 6}), kTokens}, {}, true, {}, "a multiple of 2, 8"},
      {Op::kAttention, {q, kTokens}, {}, false, {}, "expected a state"},
      {Op::kAttention, {q}, {}, true, {}, "expected 2 inputs, got 1"},
  });
  const Case attention{Op::kAttention, {q, kTokens}, {}, true, {}, ""};
  expect_error(ErrorCode::kCorruptFile, "expected the window 5 of its state cache, got 4",
               [&] { infer(attention, nullptr, 4); });
  // Positions that a node computed could not be checked before a call.
  expect_error(ErrorCode::kCorruptFile, "input 1: expected an input of the method",
               [&] { infer(attention, nullptr, 5, false); });
}

TEST(InferOutputs, Elementwise) {
  const Value x = f32({kBatch, kTime, 8});
  for (const Op op : {Op::kAdd, Op::kGatedActivation})
    check({
        {op, {x, x}, {}, false, Values{x}},
        {op, {x, f32({kBatch, kTime, 7})}, {}, false, {}, "input 1: expected f32 [B, T, 8]"},
        {op, {x, f32({kTime, kBatch, 8})}, {}, false, {}, "input 1: expected f32 [B, T, 8]"},
        {op, {x}, {}, false, {}, "expected 2 inputs, got 1"},
        {op, {f32({kPerRow}), f32({kPerRow})}, {}, false, {}, "inputs of known size"},
    });
  check({
      {Op::kSelectLast, {x}, {}, false, Values{f32({kBatch, 8})}},
      {Op::kSelectLast, {f32({kBatch, 3, 8})}, {}, false, {}, "x [B, T, D]"},
      {Op::kSelectLast, {f32({kBatch, kTime, kBatch})}, {}, false, {}, "x [B, T, D]"},
      {Op::kSelectLast, {f32({kBatch, 8})}, {}, false, {}, "3 dimensions"},
  });
}

TEST(InferOutputs, ReshapeKeepsTheElements) {
  const Case reshape{Op::kReshape, {f32({kBatch, kTime, 8})}, {}, false, {}, ""};
  for (const Shape& shape : {Shape{kBatch, kTime, 2, 4}, Shape{kTime, 8, kBatch},
                             Shape{kBatch, kTime, 8}, Shape{kBatch, kTime, 8, 1}}) {
    const Value declared = f32(shape);
    EXPECT_EQ(infer(reshape, &declared).front().shape, shape);
  }
  for (const Shape& shape : {Shape{kBatch, kTime, 9}, Shape{kBatch, 8}, Shape{kBatch, kBatch, 8},
                             Shape{8}, Shape{kTime, kTime, 8}}) {
    const Value declared = f32(shape);
    expect_error(ErrorCode::kCorruptFile, "[reshape] expected a shape of the elements of",
                 [&] { infer(reshape, &declared); });
  }
  expect_error(ErrorCode::kCorruptFile, "[reshape] expected 1 output", [&] { infer(reshape); });
  // One element would stand for B of them.
  const Value per_row = f32({kPerRow});
  expect_error(ErrorCode::kCorruptFile, "[reshape] expected a shape of the elements of [1]",
               [&] { infer({Op::kReshape, {f32({1})}, {}, false, {}, ""}, &per_row); });
}

TEST(InferOutputs, Sample) {
  const Value real = f32({kPerRow});
  const Value integer = i64({kPerRow});
  const auto sample = [&](const Value& logits) {
    return Values{logits, real, integer, real, integer, real};
  };
  const auto with = [&](Values values, const Value& last) {
    values.push_back(last);
    return values;
  };
  const Value logits = f32({kBatch, 50});
  Values swapped = sample(logits);
  std::swap(swapped[1], swapped[2]);
  Values fixed = sample(logits);
  fixed[4] = i64({1});
  check({
      {Op::kSample, sample(logits), {}, false, Values{i64({kBatch})}},
      {Op::kSample, sample(f32({kBatch, kTime, 50})), {}, false, Values{i64({kBatch})}},
      {Op::kSample, with(sample(logits), kTokens), {}, false, Values{i64({kBatch})}},
      {Op::kSample, with(sample(logits), i64({kBatch})), {}, false, {}, "input 6: expected i64"},
      {Op::kSample,
       with(with(sample(logits), kTokens), kTokens),
       {},
       false,
       {},
       "expected 6 to 7 inputs, got 8"},
      {Op::kSample, swapped, {}, false, {}, "input 1: expected f32 [1 or B]"},
      {Op::kSample, fixed, {}, false, {}, "input 4: expected i64 [1 or B], got i64 [1]"},
      {Op::kSample, sample(f32({kTime, 50})), {}, false, {}, "logits [B, V] or [B, T, V]"},
      {Op::kSample, sample(f32({kBatch, 3, 50})), {}, false, {}, "logits [B, V] or [B, T, V]"},
      {Op::kSample, sample(f32({kBatch, kTime})), {}, false, {}, "logits [B, V] or [B, T, V]"},
      {Op::kSample, sample(f32({kBatch, 1 << 23})), {}, false, {}, "V below 2^23"},
      {Op::kSample, sample(f32({kPerRow})), {}, false, {}, "logits [B, V] or [B, T, V]"},
      {Op::kSample, sample(i64({kBatch, 50})), {}, false, {}, "expected f32"},
  });
}

}  // namespace
}  // namespace gumbel
