// gumbel export: a model file or folder to a program file.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/precision.h"
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
  int threads = 0;

  void run() const;
};

// A bar on a terminal that says how far the export is, renewed a few times a second.
class Progress {
 public:
  Progress() = default;
  // Whatever comes next, an error too, has a line of its own.
  ~Progress() {
    if (shown_) fmt::print(stderr, "\n");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const ExportProgress& state) {
    const auto now = std::chrono::steady_clock::now();
    if (shown_ && now - last_ < std::chrono::milliseconds(200) && state.written < state.total)
      return;
    last_ = now;
    shown_ = true;
    const double seconds = std::max(std::chrono::duration<double>(now - start_).count(), 1e-3);
    const double share = static_cast<double>(state.written) / static_cast<double>(state.total);
    const auto filled = static_cast<size_t>(share * kWidth);
    const auto rate = [&](uint64_t bytes) { return static_cast<double>(bytes) / 1e6 / seconds; };
    const double left = share > 0 ? seconds * (1 - share) / share : 0;
    const auto whole = static_cast<int64_t>(std::ceil(left));
    // The spaces cover a longer line before it.
    fmt::print(stderr,
               "\r[{}{}] {:3.0f} %, {:.0f} MB/s read, {:.0f} MB/s written, {}:{:02} left    ",
               std::string(filled, '='), std::string(kWidth - filled, ' '), 100 * share,
               rate(state.read), rate(state.written), whole / 60, whole % 60);
  }

 private:
  static constexpr size_t kWidth = 24;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::chrono::steady_clock::time_point last_;
  bool shown_ = false;
};

volatile std::sig_atomic_t pending_signal = 0;

struct EndedBySignal {};

// While it lives, signals that end the program only leave their number in pending_signal, so that
// the file in progress can be removed first; the second one of a kind ends it at once.
class SignalScope {
 public:
  SignalScope() {
    for (size_t i = 0; i < std::size(kSignals); ++i) {
      struct sigaction action{};
      action.sa_handler = [](int number) { pending_signal = number; };
      action.sa_flags = SA_RESTART | SA_RESETHAND;
      ::sigaction(kSignals[i], nullptr, &previous_[i]);
      if (previous_[i].sa_handler == SIG_DFL) ::sigaction(kSignals[i], &action, nullptr);
    }
  }
  ~SignalScope() {
    for (size_t i = 0; i < std::size(kSignals); ++i)
      ::sigaction(kSignals[i], &previous_[i], nullptr);
  }
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction previous_[std::size(kSignals)]{};
};

void ExportCommand::run() const {
  ExportOptions options;
  options.sample = sample;
  options.threads = threads;
  options.quantization = quantize == "q8"   ? Quantization::kQ8
                         : quantize == "q4" ? Quantization::kQ4
                                            : Quantization::kNone;
  options.max_sequence_length = max_sequence_length;
  if (!kv.empty()) options.kv_type = kv == "f16" ? DataType::kF16 : DataType::kF32;
  const bool shows_progress = isatty(STDERR_FILENO) != 0;

  const std::unique_ptr<Backend> packer = make_backend(backend, 1);
  const ImportedModel model = import_model(source);
  const Program program = [&] {
    const SignalScope scope;
    Progress progress;
    options.progress = [&](const ExportProgress& state) {
      if (pending_signal != 0) throw EndedBySignal{};
      if (shows_progress && state.total > 0) progress.show(state);
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
                  "GGUF file, Hugging Face folder, random:config.json, random:gemma4-31b or "
                  "random:qwen3.5-35b-a3b")
      ->required();
  sub->add_option("-o,--output", command->output, "The program file to write")->required();
  sub->add_flag("--sample", command->sample, "forward returns tokens instead of logits");
  sub->add_option("--quantize", command->quantize, "none, q8 or q4: weights in groups of 32")
      ->check(CLI::IsMember({"none", "q8", "q4"}))
      ->capture_default_str();
  sub->add_option("--max-seq-len", command->max_sequence_length,
                  "Positions of a session (default: the model's own or 8192, the lesser)")
      ->check(whole_number());
  sub->add_option("--kv", command->kv, "Type of the key-value cache")
      ->check(CLI::IsMember({"f16", "f32"}));
  sub->add_option("--backend", command->backend, "Backend to pack weights for")
      ->capture_default_str();
  sub->add_option(
         "--threads", command->threads,
         "Threads that quantize and pack (default: the physical cores, within the CPU quota)")
      ->check(positive());
  sub->callback([command] {
    try {
      command->run();
    } catch (const EndedBySignal&) {
      std::raise(pending_signal);  // ends the program as the signal does
    }
  });
}

}  // namespace gumbel::cli
