#include "runtime/memory_plan.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace gumbel {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kMaxArena = uint64_t{1} << 40;

// Nodes between which a value is needed, both ends included; inputs are there before node 0.
struct Lifetime {
  int64_t first = -1;
  int64_t last = -1;
  uint64_t bytes = 0;
};

uint64_t value_bytes(const Value& value, int64_t batch, int64_t time) {
  auto bytes = static_cast<uint64_t>(size_of(value.type));
  for (const int64_t dim : value.shape) {
    const auto size = static_cast<uint64_t>(resolve(dim, batch, time));
    if (bytes > kMaxArena / size)
      fail(ErrorCode::kUnsupported,
           "value {}: expected at most {} bytes for {} rows of {} positions", value.name, kMaxArena,
           batch, time);
    bytes *= size;
  }
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

std::vector<int32_t> alias_roots(const Method& method) {
  std::vector<int32_t> roots(method.values.size());
  std::iota(roots.begin(), roots.end(), 0);
  for (const Node& node : method.nodes)
    if (node.op == Op::kReshape)
      roots[static_cast<size_t>(node.outputs[0])] = roots[static_cast<size_t>(node.inputs[0])];
  return roots;
}

MemoryPlan plan_memory(const Method& method, int64_t batch, int64_t time) {
  const std::vector<int32_t> roots = alias_roots(method);
  std::vector<Lifetime> lifetimes(method.values.size());
  const auto of = [&](int32_t value) -> Lifetime& {
    return lifetimes[static_cast<size_t>(roots[static_cast<size_t>(value)])];
  };
  const auto node_count = static_cast<int64_t>(method.nodes.size());
  for (int64_t i = 0; i < node_count; ++i) {
    const Node& node = method.nodes[static_cast<size_t>(i)];
    for (const int32_t value : node.inputs) of(value).last = i;
    for (const int32_t value : node.outputs) {
      if (node.op != Op::kReshape) of(value).first = i;
      of(value).last = i;
    }
  }
  for (const int32_t value : method.outputs) of(value).last = node_count;

  // First fit, the largest values first: they decide the size of the arena.
  std::vector<size_t> order;
  for (size_t i = 0; i < lifetimes.size(); ++i) {
    if (roots[i] != static_cast<int32_t>(i)) continue;
    lifetimes[i].bytes = value_bytes(method.values[i], batch, time);
    order.push_back(i);
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return lifetimes[a].bytes > lifetimes[b].bytes; });
  MemoryPlan plan;
  plan.offsets.resize(method.values.size());
  std::vector<size_t> placed;  // by offset
  for (const size_t i : order) {
    uint64_t offset = 0;
    for (const size_t other : placed) {
      const bool together = lifetimes[i].first <= lifetimes[other].last &&
                            lifetimes[other].first <= lifetimes[i].last;
      if (!together) continue;
      if (offset + lifetimes[i].bytes <= plan.offsets[other]) break;
      offset = std::max(offset, plan.offsets[other] + lifetimes[other].bytes);
    }
    plan.offsets[i] = offset;
    plan.bytes = std::max(plan.bytes, offset + lifetimes[i].bytes);
    if (plan.bytes > kMaxArena)
      fail(ErrorCode::kUnsupported, "method {}: expected an arena of at most {} bytes", method.name,
           kMaxArena);
    placed.insert(
        std::upper_bound(placed.begin(), placed.end(), i,
                         [&](size_t a, size_t b) { return plan.offsets[a] < plan.offsets[b]; }),
        i);
  }
  for (size_t i = 0; i < plan.offsets.size(); ++i)
    plan.offsets[i] = plan.offsets[static_cast<size_t>(roots[i])];
  return plan;
}

}  // namespace gumbel
