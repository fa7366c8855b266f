// gumbel export: a model file or folder to a program file.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "export/export.h"
#include "export/import.h"

namespace gumbel::cli {
namespace {

struct ExportCommand {
  std::string source;
  std::string output;
  bool sample = false;
  std::string quantize = "none";
  std::optional<int64_t> max_sequence_length;
  std::string kv;
  std::string backend = "cpu";

  void run() const;
};

// A line on a terminal that says how far the export is, renewed a few times a second.
class Progress {
 public:
  void operator()(uint64_t written, uint64_t total) {
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < std::chrono::milliseconds(200) && written < total) return;
    shown_ = now;
    const double seconds = std::chrono::duration<double>(now - start_).count();
    const double rate = static_cast<double>(written) / std::max(seconds, 1e-3);
    fmt::print(stderr, "\rexporting: {} of {} MiB, {:.0f} MiB/s, {:.0f} s left   ", written >> 20,
               total >> 20, rate / (1 << 20), static_cast<double>(total - written) / rate);
    if (written == total) fmt::print(stderr, "\n");
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point shown_;
};

void ExportCommand::run() const {
  ExportOptions options;
  options.sample = sample;
  options.quantization = quantize == "q8"   ? Quantization::kQ8
                         : quantize == "q4" ? Quantization::kQ4
                                            : Quantization::kNone;
  options.max_sequence_length = max_sequence_length;
  if (!kv.empty()) options.kv_type = kv == "f16" ? DataType::kF16 : DataType::kF32;
  if (isatty(STDERR_FILENO) != 0) options.progress = Progress();

  const std::unique_ptr<Backend> packer = make_backend(backend, 1);
  const ImportedModel model = import_model(source);
  const Program program = export_program(model, options, *packer, output);
  uint64_t bytes = 0;
  for (const WeightInfo& weight : program.weights) bytes += weight.bytes;
  fmt::print("{}: {} from {}, {} MiB of weights, context {}, returns {}\n", output,
             model.config.architecture, model.source_name, bytes >> 20,
             program.constant("get_max_seq_len"), sample ? "tokens" : "logits");
  if (program.chat_format.empty())
    fmt::print("{}: no known chat template: programs complete raw text\n", model.source_name);
}

}  // namespace

void add_export_command(CLI::App& app) {
  auto command = std::make_shared<ExportCommand>();
  CLI::App* sub = app.add_subcommand("export", "Write a model as a program file");
  sub->add_option("SOURCE", command->source,
                  "GGUF file, Hugging Face folder, or random:config.json")
      ->required();
  sub->add_option("-o,--output", command->output, "The program file to write")->required();
  sub->add_flag("--sample", command->sample, "forward returns tokens instead of logits");
  sub->add_option("--quantize", command->quantize, "none, q8 or q4: weights in groups of 32")
      ->check(CLI::IsMember({"none", "q8", "q4"}))
      ->capture_default_str();
  sub->add_option("--max-seq-len", command->max_sequence_length,
                  "Positions of a session (default: the model's own or 8192, the lesser)");
  sub->add_option("--kv", command->kv, "Type of the key-value cache")
      ->check(CLI::IsMember({"f16", "f32"}));
  sub->add_option("--backend", command->backend, "Backend to pack weights for")
      ->capture_default_str();
  sub->callback([command] { command->run(); });
}

}  // namespace gumbel::cli
