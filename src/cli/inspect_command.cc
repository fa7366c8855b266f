// gumbel inspect: what a program file holds.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <memory>
#include <string>

#include "cli/commands.h"
#include "cli/model_source.h"
#include "cli/precision.h"
#include "program/program_file.h"
#include "runtime/memory_plan.h"
#include "runtime/session_state.h"

namespace gumbel::cli {
namespace {

std::string signature(const Method& method) {
  std::string text = method.name + "(";
  for (const Input& input : method.inputs) {
    const Value& value = method.values[static_cast<size_t>(input.value)];
    if (text.back() != '(') text += ", ";
    text += fmt::format("{} {} {}", value.name, name(value.type), to_string(value.shape));
    if (input.default_value) text += fmt::format(" = {}", *input.default_value);
  }
  text += ") ->";
  for (const int32_t output : method.outputs) {
    const Value& value = method.values[static_cast<size_t>(output)];
    text += fmt::format(" {} {}", name(value.type), to_string(value.shape));
  }
  return text + (method.outputs.empty() ? " nothing" : "");
}

void print_graph(const Program& program, const Method& method) {
  const auto value = [&](int32_t i) {
    const Value& v = method.values[static_cast<size_t>(i)];
    return fmt::format("{} {}", v.name, to_string(v.shape));
  };
  for (const Node& node : method.nodes) {
    std::string line;
    for (const int32_t i : node.outputs) line += value(i) + " = ";
    line += std::string(name(node.op)) + "(";
    for (const int32_t i : node.inputs)
      line += (line.back() == '(' ? "" : ", ") + method.values[static_cast<size_t>(i)].name;
    for (const int32_t i : node.weights)
      line += (line.back() == '(' ? "" : ", ") + program.weights[static_cast<size_t>(i)].name;
    if (const auto i = static_cast<size_t>(node.state); node.state >= 0)
      line += "; " + (has_recurrent_state(node.op) ? program.recurrent_states[i].name
                                                   : program.kv_caches[i].name);
    fmt::print("    {})\n", line);
  }
}

void print_weights(const Program& program, bool each) {
  std::map<std::string, std::pair<int, uint64_t>> by_type;
  uint64_t total = 0;
  for (const WeightInfo& weight : program.weights) {
    auto& [count, bytes] = by_type[std::string(traits(weight.type).name)];
    ++count;
    bytes += weight.bytes;
    total += weight.bytes;
  }
  fmt::print("weights: {} bytes in {} tensors, packed for {}\n", total, program.weights.size(),
             program.packing);
  for (const auto& [type, sum] : by_type)
    fmt::print("  {}: {} tensors, {} bytes\n", type, sum.first, sum.second);
  if (const std::string kept = kept_precision(program); !kept.empty()) fmt::print("  {}\n", kept);
  if (!each) return;
  for (const WeightInfo& weight : program.weights)
    fmt::print("  {} {} {}: {} bytes at {}, xxh3 {:016x}\n", weight.name, traits(weight.type).name,
               to_string(weight.shape), weight.bytes, weight.offset, weight.checksum);
}

void inspect(const std::string& path, bool graph, bool weights, bool check) {
  const ProgramFile file(path);
  const Program& program = file.program();
  fmt::print("{}: {} bytes\n", path, file.file_bytes());
  for (const auto& [key, value] : program.provenance) fmt::print("{}: {}\n", key, value);
  fmt::print("tokenizer: {} bytes\n", program.tokenizer.size());
  fmt::print("chat template: {} bytes\n", program.chat_template.size());
  fmt::print("constant methods:\n");
  for (const auto& [key, values] : program.constants)
    fmt::print("  {}: {}\n", key, fmt::join(values, " "));
  fmt::print("methods:\n");
  const int64_t chunk = program.constant("get_max_prefill_chunk");
  for (const Method& method : program.methods) {
    fmt::print("  {}: {} nodes, {} bytes of activations for a chunk of {}\n", signature(method),
               method.nodes.size(), plan_memory(method, 1, chunk).bytes, chunk);
    if (graph) print_graph(program, method);
  }
  fmt::print(
      "state: {} key-value caches and {} recurrent states, {} bytes a session at the maximum "
      "sequence length\n",
      program.kv_caches.size(), program.recurrent_states.size(), session_state_bytes(program, 1));
  print_weights(program, weights);
  if (!check) return;
  file.check_weights();
  fmt::print("checksums: all {} weights and the header are as written\n", program.weights.size());
}

}  // namespace

void add_inspect_command(CLI::App& app) {
  struct Options {
    std::string model;
    bool graph = false;
    bool weights = false;
    bool check = false;
    bool chat_template = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("inspect", "Print what a program file holds");
  add_model_argument(*sub, options->model);
  sub->add_flag("--graph", options->graph, "List the nodes of every method");
  sub->add_flag("--weights", options->weights, "List every weight");
  sub->add_flag("--check", options->check, "Read every weight and compare its checksum");
  sub->add_flag("--chat-template", options->chat_template, "Print the chat template alone");
  sub->callback([options] {
    const ModelFile file = program_of(options->model, /*sample=*/true, {}, 0);
    if (options->chat_template) {
      fmt::print("{}", ProgramFile(file.path).program().chat_template);
    } else {
      inspect(file.path, options->graph, options->weights, options->check);
    }
  });
}

}  // namespace gumbel::cli
