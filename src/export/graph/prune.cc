#include "export/graph/prune.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace gumbel {

void prune(Method& method) {
  std::vector<bool> needed(method.values.size());
  const auto need = [&](const std::vector<int32_t>& values) {
    for (const int32_t value : values) needed[static_cast<size_t>(value)] = true;
  };
  need(method.outputs);
  std::vector<Node> kept;  // from the last to the first
  for (auto node = method.nodes.rbegin(); node != method.nodes.rend(); ++node) {
    const bool leads_on = std::any_of(node->outputs.begin(), node->outputs.end(),
                                      [&](int32_t v) { return needed[static_cast<size_t>(v)]; });
    if (!stores_state(node->op) && !leads_on) continue;
    need(node->inputs);
    need(node->outputs);
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  method.nodes = std::move(kept);
  for (const Input& input : method.inputs) needed[static_cast<size_t>(input.value)] = true;

  std::vector<Value> values;
  std::vector<int32_t> renumbered(method.values.size());
  for (size_t i = 0; i < needed.size(); ++i) {
    renumbered[i] = static_cast<int32_t>(values.size());
    if (needed[i]) values.push_back(std::move(method.values[i]));
  }
  method.values = std::move(values);
  const auto renumber = [&](int32_t& value) { value = renumbered[static_cast<size_t>(value)]; };
  for (Input& input : method.inputs) renumber(input.value);
  for (int32_t& output : method.outputs) renumber(output);
  for (Node& node : method.nodes) {
    for (int32_t& input : node.inputs) renumber(input);
    for (int32_t& output : node.outputs) renumber(output);
  }
}

}  // namespace gumbel
