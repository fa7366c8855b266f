// gumbel eval: a program's logits beside stored answers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/commands.h"
#include "cli/evaluate.h"
#include "cli/model_source.h"

namespace gumbel::cli {
namespace {

struct EvalCommand {
  std::string model;
  ExportChoice choice;
  std::string answers;
  DeviceOptions device;
  int64_t chunk = 0;
  bool json = false;

  void run() const {
    const ModelFile file = program_of(model, /*sample=*/false, choice, device.threads);
    const Evaluation e = evaluate(file.path, answers, device, chunk);
    nlohmann::ordered_json result;
    if (e.has_logits) {
      result["max_abs_diff"] = e.max_abs_diff;
      result["greedy_equal"] = e.greedy_equal;
      result["full_kl"] = e.full_kl;
    }
    if (e.has_top) {
      result["mean_kl"] = e.mean_kl;
      result["agreement"] = e.agreement;
      result["perplexity"] = e.perplexity;
    }
    result["logits_hash"] = fmt::format("{:016x}", e.logits_hash);
    if (json) {
      fmt::print("{}\n", result.dump());
      return;
    }
    for (const auto& [key, value] : result.items()) fmt::print("{}: {}\n", key, value.dump());
  }
};

}  // namespace

void add_eval_command(CLI::App& app) {
  auto command = std::make_shared<EvalCommand>();
  CLI::App* sub = app.add_subcommand("eval", "Compare a program's logits with stored answers");
  add_model_argument(*sub, command->model);
  sub->add_option("--answers", command->answers, "Stored answers (safetensors)")->required();
  sub->add_option("--chunk", command->chunk, "Prefill chunk, clamped to the program's bounds")
      ->check(whole_number());
  sub->add_flag("--json", command->json, "Print one JSON object");
  add_export_options(*sub, command->choice);
  add_device_options(*sub, command->device);
  sub->callback([command] { command->run(); });
}

}  // namespace gumbel::cli
