// gumbel bench: how fast a program loads, prefills and decodes.
#include <fmt/format.h>
#include <gumbel/engine.h>
#include <sys/resource.h>

#include <algorithm>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/model_source.h"
#include "cli/options.h"

namespace gumbel::cli {
namespace {

struct BenchCommand {
  std::string model;
  ExportChoice choice;
  int64_t prompt_tokens = 512;
  int64_t new_tokens = 128;
  int repetitions = 5;
  SamplingOptions sampling;
  DeviceOptions device;
  bool host_sampling = false;
  bool json = false;

  void run() const;
};

// One repetition's figures by JSON key.
using Figures = std::map<std::string, double>;

Figures measure(const BenchCommand& bench, const std::string& program) {
  Engine engine(program, {bench.device.backend, bench.device.threads, bench.host_sampling});
  const ModelInfo& info = engine.info();
  if (bench.prompt_tokens > info.max_sequence_length ||
      bench.new_tokens > info.max_sequence_length - bench.prompt_tokens)
    fail(ErrorCode::kInvalidArgument,
         "bench: expected -p and -n to add up to at most {}, the context, got {} and {}",
         info.max_sequence_length, bench.prompt_tokens, bench.new_tokens);
  SamplingOptions options = bench.sampling;
  if (!options.seed && (info.use_sampling || bench.host_sampling)) options.seed = Seed{};
  const Sampling sampling = resolve(options, info.use_sampling || bench.host_sampling);

  std::mt19937_64 random(1);
  std::vector<int64_t> tokens;
  for (int64_t i = 0; i < bench.prompt_tokens; ++i)
    tokens.push_back(static_cast<int64_t>(random() % static_cast<uint64_t>(info.vocab_size)));
  Session session = engine.create_session();
  session.prefill(tokens, sampling);
  // An end of turn does not end a benchmark: the next token is drawn all the same.
  for (int64_t i = 0; i < bench.new_tokens; ++i) session.decode(sampling);

  const Statistics& s = session.statistics();
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {
      {"prefill_tokens_per_s", static_cast<double>(s.prefill_tokens) / s.prefill_seconds},
      {"decode_tokens_per_s", static_cast<double>(s.decode_tokens) / s.decode_seconds},
      {"sampling_ms_per_token",
       s.sampling_seconds * 1e3 / static_cast<double>(s.decode_tokens + 1)},
      {"load_ms", engine.load_seconds() * 1e3},
      {"peak_rss_mib", static_cast<double>(usage.ru_maxrss) / 1024},
  };
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void BenchCommand::run() const {
  const ModelFile file = program_of(model, !host_sampling, choice, device.threads);
  std::map<std::string, std::vector<double>> figures;
  for (int i = 0; i < repetitions; ++i)
    for (const auto& [key, value] : measure(*this, file.path)) figures[key].push_back(value);
  nlohmann::ordered_json result;
  for (const char* key : {"prefill_tokens_per_s", "decode_tokens_per_s", "sampling_ms_per_token",
                          "load_ms", "peak_rss_mib"}) {
    const std::vector<double>& values = figures[key];
    result[key] = median(values);
    result[std::string(key) + "_min"] = *std::min_element(values.begin(), values.end());
    result[std::string(key) + "_max"] = *std::max_element(values.begin(), values.end());
    if (!json)
      fmt::print("{:22} {:10.3f}  ({:.3f} to {:.3f})\n", key, result[key].get<double>(),
                 result[std::string(key) + "_min"].get<double>(),
                 result[std::string(key) + "_max"].get<double>());
  }
  if (json) fmt::print("{}\n", result.dump());
}

}  // namespace

void add_bench_command(CLI::App& app) {
  auto command = std::make_shared<BenchCommand>();
  CLI::App* sub = app.add_subcommand("bench", "Measure loading, prefill, decode and sampling");
  add_model_argument(*sub, command->model);
  sub->add_option("-p", command->prompt_tokens, "Tokens of the prompt")
      ->check(positive())
      ->capture_default_str();
  sub->add_option("-n", command->new_tokens, "Tokens to decode")
      ->check(positive())
      ->capture_default_str();
  sub->add_option("--repetitions", command->repetitions, "Repetitions; the median is printed")
      ->check(positive())
      ->capture_default_str();
  add_sampling_options(*sub, command->sampling);
  sub->add_flag("--host-sampling", command->host_sampling,
                "Draw on the host from a program that returns logits");
  sub->add_flag("--json", command->json, "Print one JSON object");
  add_export_options(*sub, command->choice);
  add_device_options(*sub, command->device);
  sub->callback([command] { command->run(); });
}

}  // namespace gumbel::cli
