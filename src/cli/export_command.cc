// gumbel export: a model file or folder to a program file.
#include <fmt/format.h>

#include <memory>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/model_source.h"
#include "cli/options.h"
#include "cli/precision.h"
#include "cli/progress_bar.h"
#include "cli/signal_scope.h"
#include "export/export.h"
#include "export/import.h"

namespace gumbel::cli {
namespace {

struct ExportCommand {
  std::string source;
  std::string output;
  bool sample = false;
  ExportChoice choice;
  std::string backend = "cpu";
  int threads = 0;

  void run() const;
};

void ExportCommand::run() const {
  ExportOptions options = choice.options();
  options.sample = sample;
  options.threads = threads;

  const ModelFile file = fetched(source);
  const std::unique_ptr<Backend> packer = make_backend(backend, 1);
  const ImportedModel model = import_model(file.path);
  const Program program = [&] {
    const SignalScope scope;
    ProgressBar bar;
    options.progress = [&](const ExportProgress& state) {
      SignalScope::check();
      bar.show(state.written, state.total, {{state.read, "read"}, {state.written, "written"}});
    };
    return export_program(model, options, *packer, output);
  }();
  uint64_t bytes = 0;
  for (const WeightInfo& weight : program.weights) bytes += weight.bytes;
  fmt::print("{}: {} from {}, {} MiB of weights, context {}, returns {}\n", output,
             model.config.architecture, model.source_name, bytes >> 20,
             program.constant("get_max_seq_len"), sample ? "tokens" : "logits");
  for (const std::string& note : model.notes) fmt::print("{}: {}\n", model.source_name, note);
  if (const std::string kept = kept_precision(program); !kept.empty())
    fmt::print("{}: {}\n", output, kept);
  if (!model.tokenizer)
    fmt::print("{}: no tokenizer: programs take and give token ids alone\n", model.source_name);
  else if (program.chat_template.empty())
    fmt::print("{}: no chat template: programs complete raw text\n", model.source_name);
}

}  // namespace

void add_export_command(CLI::App& app) {
  auto command = std::make_shared<ExportCommand>();
  CLI::App* sub = app.add_subcommand("export", "Write a model as a program file");
  sub->add_option("SOURCE", command->source,
                  "GGUF file, Hugging Face folder, hf:OWNER/NAME[:FILE], random:config.json, "
                  "random:gemma4-31b or random:qwen3.5-35b-a3b")
      ->required();
  sub->add_option("-o,--output", command->output, "The program file to write")->required();
  sub->add_flag("--sample", command->sample, "forward returns tokens instead of logits");
  add_export_options(*sub, command->choice);
  sub->add_option("--backend", command->backend, "Backend to pack weights for")
      ->capture_default_str();
  sub->add_option(
         "--threads", command->threads,
         "Threads that quantize and pack (default: the physical cores, within the CPU quota)")
      ->check(positive());
  sub->callback([command] { command->run(); });
}

}  // namespace gumbel::cli
