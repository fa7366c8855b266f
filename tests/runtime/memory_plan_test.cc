#include "runtime/memory_plan.h"

#include <random>

#include "export/test_files.h"

namespace gumbel {
namespace {

int32_t add_value(Method& method, Shape shape) {
  method.values.push_back({"v", DataType::kF32, std::move(shape)});
  return static_cast<int32_t>(method.values.size() - 1);
}

int32_t add_node(Method& method, Op op, std::vector<int32_t> inputs, Shape shape) {
  const int32_t output = add_value(method, std::move(shape));
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.outputs = {output};
  method.nodes.push_back(node);
  return output;
}

int64_t bytes(const Value& value, int64_t batch, int64_t time) {
  int64_t size = size_of(value.type);
  for (const int64_t dim : value.shape) size *= resolve(dim, batch, time);
  return size;
}

// Runs the method on paper: each byte of the arena remembers which value (up to reshapes) wrote it
// last, and every read must find its own.
void check_by_simulation(const Method& method, int64_t batch, int64_t time) {
  const MemoryPlan plan = plan_memory(method, batch, time);
  const std::vector<int32_t> roots = alias_roots(method);
  std::vector<int32_t> owner(plan.bytes, -1);
  const auto visit = [&](int32_t value, const auto& each) {
    const auto i = static_cast<size_t>(value);
    ASSERT_EQ(plan.offsets[i] % 64, 0u);
    ASSERT_EQ(plan.offsets[i], plan.offsets[static_cast<size_t>(roots[i])]);
    const auto size = static_cast<uint64_t>(bytes(method.values[i], batch, time));
    ASSERT_LE(plan.offsets[i] + size, plan.bytes);
    for (uint64_t k = 0; k < size; ++k) each(owner[plan.offsets[i] + k], roots[i]);
  };
  const auto write = [](int32_t& byte, int32_t root) { byte = root; };
  const auto read = [](int32_t& byte, int32_t root) { ASSERT_EQ(byte, root); };
  for (const Input& input : method.inputs) visit(input.value, write);
  for (const Node& node : method.nodes) {
    // An op may write its output before it has read all of its inputs.
    if (node.op != Op::kReshape)
      for (const int32_t output : node.outputs) visit(output, write);
    for (const int32_t input : node.inputs) visit(input, read);
  }
  for (const int32_t output : method.outputs) visit(output, read);
}

TEST(MemoryPlan, ValuesThatAreAliveTogetherDoNotOverlapInRandomGraphs) {
  std::mt19937 random(3);
  const auto below = [&](uint32_t limit) { return static_cast<int64_t>(random() % limit); };
  for (int trial = 0; trial < 300; ++trial) {
    Method method;
    const int inputs = 1 + static_cast<int>(random() % 3);
    for (int i = 0; i < inputs; ++i)
      method.inputs.push_back({add_value(method, {kBatch, kTime, 1 + below(40)}), {}});
    const int nodes = static_cast<int>(random() % 25);
    for (int i = 0; i < nodes; ++i) {
      const auto any = [&] { return static_cast<int32_t>(random() % method.values.size()); };
      if (random() % 4 == 0) {
        const int32_t x = any();
        Shape shape = method.values[static_cast<size_t>(x)].shape;
        std::swap(shape.front(), shape.back());
        add_node(method, Op::kReshape, {x}, shape);
      } else {
        add_node(method, Op::kAdd, {any(), any()}, {kBatch, 1 + below(200)});
      }
    }
    for (unsigned i = 0; i < 1 + random() % 2; ++i)
      method.outputs.push_back(static_cast<int32_t>(random() % method.values.size()));
    check_by_simulation(method, 1 + below(3), 1 + below(5));
    if (testing::Test::HasFatalFailure()) return;
  }
}

TEST(MemoryPlan, AChainNeedsRoomForTwo) {
  Method method;
  int32_t x = add_value(method, {kBatch, kTime, 16});
  method.inputs = {{x, {}}};
  for (int i = 0; i < 20; ++i) x = add_node(method, Op::kAdd, {x, x}, {kBatch, kTime, 16});
  method.outputs = {x};
  EXPECT_EQ(plan_memory(method, 2, 8).bytes, 2u * (2 * 8 * 16 * 4));
}

TEST(MemoryPlan, ReshapesShareMemory) {
  Method method;
  const int32_t x = add_value(method, {kBatch, 8});
  method.inputs = {{x, {}}};
  const int32_t y = add_node(method, Op::kAdd, {x, x}, {kBatch, 8});
  const int32_t z = add_node(method, Op::kReshape, {y}, {kBatch, 2, 4});
  const int32_t w = add_node(method, Op::kReshape, {z}, {kBatch, 8});
  method.outputs = {w};
  const std::vector<int32_t> expected = {x, y, y, y};
  EXPECT_EQ(alias_roots(method), expected);
  const MemoryPlan plan = plan_memory(method, 1, 1);
  EXPECT_EQ(plan.offsets[static_cast<size_t>(w)], plan.offsets[static_cast<size_t>(y)]);
  EXPECT_NE(plan.offsets[static_cast<size_t>(y)], plan.offsets[static_cast<size_t>(x)]);
}

TEST(MemoryPlan, RefusesAnArenaThatIsTooLarge) {
  Method one;
  one.inputs = {{add_value(one, {kBatch, kTime, int64_t{1} << 31}), {}}};
  test::expect_error(ErrorCode::kUnsupported, "value v: expected at most",
                     [&] { plan_memory(one, 64, 4096); });
  Method many;
  for (int i = 0; i < 3; ++i)
    many.inputs.push_back({add_value(many, {int64_t{1} << 19, int64_t{1} << 18}), {}});
  test::expect_error(ErrorCode::kUnsupported, "expected an arena of at most",
                     [&] { plan_memory(many, 1, 1); });
}

}  // namespace
}  // namespace gumbel
