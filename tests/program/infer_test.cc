#include <fmt/format.h>

#include <cmath>
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
        {op, {x, f32({kBatch, kTime, 7})}, {}, false, {}, "expected"},
        {op, {x, f32({kTime, kBatch, 8})}, {}, false, {}, "expected"},
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

TEST(InferOutputs, OneGateForARow) {
  const Value up = f32({kBatch, kTime, 8});
  check({
      {Op::kGatedActivation, {f32({kBatch, kTime, 1}), up}, {}, false, Values{up}},
      {Op::kGatedActivation, {f32({kBatch, 1}), up}, {}, false, {}, "gates [B, T, 8], or one"},
      {Op::kGatedActivation, {f32({kBatch, kTime, 2}), up}, {}, false, {}, "or one for each row"},
      {Op::kGatedActivation, {up, f32({kBatch, kTime, 1})}, {}, false, {}, "gates [B, T, 1]"},
  });
}

TEST(InferOutputs, ScaleSoftCapAndSlice) {
  const Value x = f32({kBatch, kTime, 8});
  check({
      {Op::kScale, {x}, {}, false, Values{x}},
      {Op::kScale, {i64({kBatch})}, {}, false, {}, "expected f32"},
      {Op::kSoftCap, {x}, {}, false, Values{x}},
      {Op::kSoftCap, {x, x}, {}, false, {}, "expected 1 inputs"},
  });
  Program program;
  Method method;
  method.values = {x, f32({kBatch, kTime})};
  Node node;
  node.inputs = {0};
  const auto refused = [&](const char* message) {
    expect_error(ErrorCode::kCorruptFile, message, [&] { infer_outputs(program, method, node); });
  };
  for (const float scale : {0.0f, -1.0f, NAN, INFINITY}) {
    node.op = Op::kSoftCap;
    node.attributes.scale = scale;
    refused("a scale that is finite and positive");
    node.op = Op::kScale;
    if (!std::isfinite(scale)) refused("a scale that is finite");
  }
  node.op = Op::kSlice;
  node.attributes.begin = 2;
  node.attributes.end = 8;
  EXPECT_EQ(infer_outputs(program, method, node).front().shape, (Shape{kBatch, kTime, 6}));
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 9}, {-1, 3}, {4, 4}, {5, 4}}) {
    node.attributes.begin = begin;
    node.attributes.end = end;
    refused("rows that have elements");
  }
  node.inputs = {1};  // T is -2: no element is certain
  node.attributes.begin = 0;
  node.attributes.end = 1;
  refused("rows that have elements 0 to 1, got [B, T]");
}

// Scores of 6 experts, the router's choice of 2, and what follows.
TEST(InferOutputs, Experts) {
  Program program;
  program.weights = {{"factors", WeightType::kF32, {6}},
                     {"experts", WeightType::kF32, {6, 10, 8}},
                     {"others", WeightType::kF32, {5, 10, 8}},
                     {"matrix", WeightType::kF32, {10, 8}}};
  Method method;
  method.values = {f32({kBatch, kTime, 6}),    i64({kBatch, kTime, 2}),
                   f32({kBatch, kTime, 2}),    f32({kBatch, kTime, 8}),
                   f32({kBatch, kTime, 2, 8}), f32({kBatch, kTime, 3, 8}),
                   i64({kBatch, kTime, 2}),    f32({kBatch, 6})};
  Node router;
  router.op = Op::kRouter;
  router.inputs = {0};
  router.outputs = {1, 2};
  router.attributes.top_k = 2;
  const auto refused = [&](const Node& node, const char* message) {
    expect_error(ErrorCode::kCorruptFile, message, [&] { infer_outputs(program, method, node); });
  };
  const std::vector<Value> chosen = infer_outputs(program, method, router);
  ASSERT_EQ(chosen.size(), 2u);
  EXPECT_EQ(chosen[0].type, DataType::kI64);
  EXPECT_EQ(chosen[0].shape, (Shape{kBatch, kTime, 2}));
  EXPECT_EQ(chosen[1].type, DataType::kF32);
  EXPECT_EQ(chosen[1].shape, (Shape{kBatch, kTime, 2}));
  for (const int64_t top_k : {0, -1, 7}) {
    Node bad = router;
    bad.attributes.top_k = top_k;
    refused(bad, "[router] expected scores [B, T, at least top_k");
  }
  Node flat = router;
  flat.inputs = {7};
  refused(flat, "3 dimensions");
  Node factors = router;
  factors.weights = {0};
  EXPECT_EQ(infer_outputs(program, method, factors).size(), 2u);
  factors.weights = {3};
  refused(factors, "expected 1 dimensions");

  Node linear;
  linear.op = Op::kExpertLinear;
  linear.inputs = {3, 1};
  linear.weights = {1};
  refused(linear, "input 1: expected the experts of a router");  // no node computed them
  method.nodes = {router};
  EXPECT_EQ(infer_outputs(program, method, linear).front().shape, (Shape{kBatch, kTime, 2, 10}));
  linear.inputs = {4, 1};
  EXPECT_EQ(infer_outputs(program, method, linear).front().shape, (Shape{kBatch, kTime, 2, 10}));
  linear.inputs = {5, 1};
  refused(linear, "expected [B, T, 8] or [B, T, 2, 8], got [B, T, 3, 8]");
  linear.inputs = {3, 6};
  refused(linear, "input 1: expected the experts of a router");
  linear.inputs = {3, 1};
  linear.weights = {2};
  refused(linear, "scores of 5 experts, got [B, T, 6]");
  linear.weights = {3};
  refused(linear, "expected 3 dimensions");
  // A router that stands after its use, and whose inputs nobody has checked.
  router.inputs = {1 << 20};
  linear.weights = {1};
  method.nodes = {linear, router};
  refused(method.nodes[0], "input 1: expected the experts of a router");

  Node sum;
  sum.op = Op::kExpertSum;
  sum.inputs = {4, 2};
  EXPECT_EQ(infer_outputs(program, method, sum).front().shape, (Shape{kBatch, kTime, 8}));
  sum.inputs = {5, 2};
  refused(sum, "input 1: expected f32 [B, T, 3]");
}

TEST(InferOutputs, RecurrentOps) {
  Program program;
  program.weights = {{"taps", WeightType::kF32, {24}},
                     {"heads", WeightType::kF32, {4}},
                     {"others", WeightType::kF32, {5}},
                     {"matrix", WeightType::kF32, {4, 1}}};
  program.recurrent_states = {{"past", {2, 8}}, {"memory", {4, 16, 6}}};
  Method method;
  method.values = {kTokens,
                   f32({kBatch, kTime, 8}),
                   f32({kBatch, kTime, 2, 16}),
                   f32({kBatch, kTime, 4, 6}),
                   f32({kBatch, kTime, 4}),
                   f32({kBatch, kTime, 3, 16}),
                   f32({kBatch, kTime, 5})};
  method.inputs = {{0, std::nullopt}};
  const auto refused = [&](const Node& node, const char* message) {
    expect_error(ErrorCode::kCorruptFile, message, [&] { infer_outputs(program, method, node); });
  };
  Node conv;
  conv.op = Op::kCausalConv;
  conv.inputs = {1, 0};
  conv.weights = {0};
  conv.state = 0;
  EXPECT_EQ(infer_outputs(program, method, conv).front().shape, (Shape{kBatch, kTime, 8}));
  const auto changed = [](Node node, auto change) {
    change(node);
    return node;
  };
  refused(changed(conv, [](Node& n) { n.state = 1; }), "state memory: expected [2, 8], got [4, 16");
  refused(changed(conv, [](Node& n) { n.state = -1; }), "expected a state");
  refused(changed(conv, [](Node& n) { n.weights = {1}; }), "channels that 4 taps");
  refused(changed(conv, [](Node& n) { n.inputs[0] = 6; }), "channels that 24 taps");
  refused(changed(conv, [](Node& n) { n.inputs[1] = 4; }), "input 1: expected i64");

  Node rule;
  rule.op = Op::kGatedDeltaRule;
  rule.inputs = {2, 2, 3, 4, 4, 0};
  rule.weights = {1, 1};
  rule.state = 1;
  EXPECT_EQ(infer_outputs(program, method, rule).front().shape, (Shape{kBatch, kTime, 4, 6}));
  refused(changed(rule, [](Node& n) { n.state = 0; }), "state past: expected [4, 16, 6]");
  refused(changed(rule, [](Node& n) { n.inputs[0] = 5; }), "input 0: expected f32 [B, T, 2, 16]");
  refused(changed(rule, [](Node& n) { n.inputs[0] = n.inputs[1] = 5; }), "a multiple of 3");
  refused(changed(rule, [](Node& n) { n.inputs[3] = 6; }), "input 3: expected f32 [B, T, 4]");
  refused(changed(rule, [](Node& n) { n.inputs[4] = 6; }), "input 4: expected f32 [B, T, 4]");
  refused(changed(rule, [](Node& n) { n.weights[1] = 2; }), "expected 4 elements, got 5");
  refused(changed(rule, [](Node& n) { n.weights[0] = 3; }), "expected 1 dimensions");
}

}  // namespace
}  // namespace gumbel
