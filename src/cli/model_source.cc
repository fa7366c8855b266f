#include "cli/model_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>

#include "base/error.h"
#include "base/quote.h"
#include "cli/cache.h"
#include "cli/options.h"
#include "cli/progress_bar.h"
#include "cli/signal_scope.h"
#include "cli/source_files.h"
#include "hub/hub.h"
#include "program/program_file.h"

namespace gumbel::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHub = "hf:";
constexpr std::string_view kRandom = "random:";
// Programs in the cache are packed for the CPU: any backend runs them.
constexpr const char* kPacking = "cpu";

std::string environment_or(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr || *value == '\0' ? otherwise : value;
}

bool has_gguf_magic(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return false;
  std::array<char, 4> magic{};
  std::ifstream(path, std::ios::binary).read(magic.data(), magic.size());
  return std::string_view(magic.data(), magic.size()) == "GGUF";
}

// Tells builds of gumbel apart, whose exports may differ.
std::string build() {
  constexpr const char* kProgram = "/proc/self/exe";
  std::error_code ignored;
  if (!fs::exists(kProgram, ignored)) return GUMBEL_VERSION;
  return fmt::format("{} {:016x}", GUMBEL_VERSION, fingerprint({kProgram}));
}

// Says once that another process is at it.
std::function<void()> waiting_note(const std::string& model) {
  return [model, said = false]() mutable {
    SignalScope::check();
    if (!said) fmt::print(stderr, "{}: waiting for another process that prepares it\n", model);
    said = true;
  };
}

CacheRecord fetch_into(const fs::path& folder, const ModelName& name, HubOptions options,
                       const std::string& source) {
  ProgressBar bar;
  std::optional<uint64_t> before;  // what an earlier fetch left
  options.progress = [&](const FetchProgress& state) {
    SignalScope::check();
    if (state.total == 0) return;
    if (!before) {
      fmt::print(stderr, "{}: fetching from {}\n", source, printable(options.endpoint));
      before = state.present;
    }
    before = std::min(*before, state.present);
    bar.show(state.present, state.total, {{state.present - *before, "received"}}, *before);
  };
  // The name of a folder is that of the model in it.
  const fs::path within = folder / name.name;
  fs::create_directories(within);
  const fs::path path = fetch_model(name, within, options);
  return {.kind = "fetched",
          .name = name.file.empty() ? name.repository() : name.file,
          .source = source,
          .settings = "",
          .subject = "",
          .file = path.lexically_relative(folder).string()};
}

std::string settings_of(const ExportOptions& options, const std::string& quantize) {
  std::string text = options.sample ? "returns tokens" : "returns logits";
  if (options.quantization != Quantization::kNone) text += ", " + quantize;
  if (options.max_sequence_length)
    text += fmt::format(", context {}", *options.max_sequence_length);
  if (options.kv_type) text += *options.kv_type == DataType::kF16 ? ", kv f16" : ", kv f32";
  return text;
}

CacheRecord export_into(const fs::path& folder, const std::string& source, ExportOptions options,
                        const std::string& shown, CacheRecord record) {
  const ImportedModel model = import_model(source);
  fmt::print(stderr, "{}: exporting into the cache\n", shown);
  for (const std::string& note : model.notes) fmt::print(stderr, "{}: {}\n", shown, note);
  ProgressBar bar;
  options.progress = [&](const ExportProgress& state) {
    SignalScope::check();
    bar.show(state.written, state.total, {{state.read, "read"}, {state.written, "written"}});
  };
  export_program(model, options, *make_backend(kPacking, 1), folder / "program.gumbel");
  record.kind = "program";
  record.name = model.source_name;
  const bool is_path = !shown.starts_with(kHub) && !shown.starts_with(kRandom);
  record.source = is_path ? fs::absolute(shown).lexically_normal().string() : shown;
  record.file = "program.gumbel";
  return record;
}

bool is_model_name(const std::string& text) {
  try {
    parse_model_name(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool is_sound_program(const fs::path& path) {
  try {
    const ProgramFile file(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

ExportOptions ExportChoice::options() const {
  ExportOptions options;
  options.quantization = quantize == "q8"   ? Quantization::kQ8
                         : quantize == "q4" ? Quantization::kQ4
                                            : Quantization::kNone;
  options.max_sequence_length = max_sequence_length;
  if (!kv.empty()) options.kv_type = kv == "f16" ? DataType::kF16 : DataType::kF32;
  return options;
}

void add_export_options(CLI::App& command, ExportChoice& choice) {
  choice.quantize_option =
      command.add_option("--quantize", choice.quantize, "none, q8 or q4: weights in groups of 32")
          ->check(CLI::IsMember({"none", "q8", "q4"}))
          ->capture_default_str();
  choice.length_option =
      command
          .add_option("--max-seq-len", choice.max_sequence_length,
                      "Positions of a session (default: the model's own or 8192, the lesser)")
          ->check(whole_number());
  choice.kv_option = command.add_option("--kv", choice.kv, "Type of the key-value cache")
                         ->check(CLI::IsMember({"f16", "f32"}));
}

void add_model_argument(CLI::App& command, std::string& model) {
  command
      .add_option("MODEL", model,
                  "Program, or a model to export into the cache first: GGUF file, Hugging Face "
                  "folder or hf:OWNER/NAME[:FILE]")
      ->required();
}

ModelFile fetched(const std::string& source) {
  if (!source.starts_with(kHub)) return {source, {}};
  const ModelName name = parse_model_name(std::string_view(source).substr(kHub.size()));
  HubOptions options;
  options.endpoint = environment_or("HF_ENDPOINT", options.endpoint.c_str());
  options.token = environment_or("HF_TOKEN", "");
  const SignalScope scope;
  HeldEntry entry = cached(
      cache_key(fmt::format("fetched\n{}\n{}", options.endpoint, source)),
      {.is_sound = [](const fs::path&) { return true; },
       .make = [&](const fs::path& folder) { return fetch_into(folder, name, options, source); },
       .keeps_parts = true,
       .waiting = waiting_note(source)});
  return {entry.path.string(), std::move(entry.lock)};
}

ModelFile program_of(const std::string& model, bool sample, const ExportChoice& choice,
                     int threads) {
  const ModelFile source = fetched(model);
  std::error_code ignored;
  const bool is_model = source.path.starts_with(kRandom) ||
                        fs::is_directory(source.path, ignored) || has_gguf_magic(source.path);
  if (!is_model) {
    for (const CLI::Option* option :
         {choice.quantize_option, choice.length_option, choice.kv_option})
      if (option != nullptr && option->count() > 0)
        fail(ErrorCode::kInvalidArgument, "{}: expected a model to export, got the program {}",
             option->get_name(), model);
    if (!fs::exists(source.path, ignored) && is_model_name(model))
      fail(ErrorCode::kNotFound, "{}: no such file or folder; a model of a hub is hf:{}", model,
           model);
    return {source.path, {}};
  }
  ExportOptions options = choice.options();
  options.sample = sample;
  options.threads = threads;
  const std::string settings = settings_of(options, choice.quantize);
  // What a random model is goes by its name alone where no file has it.
  const std::string random = source.path.starts_with(kRandom) ? source.path : "";
  const uint64_t contents = fingerprint(source_files(source.path));
  const std::string subject =
      cache_key(fmt::format("program\n{}\n{:016x}\n{}\n{}", kPacking, contents, random, settings));
  const std::string key = cache_key(subject + build());
  const SignalScope scope;
  bool made = false;
  const auto make = [&](const fs::path& folder) {
    made = true;
    CacheRecord record;
    record.settings = settings;
    record.subject = subject;
    record = export_into(folder, source.path, options, model, record);
    if (fingerprint(source_files(source.path)) != contents)
      fail(ErrorCode::kIo, "{}: its files changed while they were exported", model);
    return record;
  };
  HeldEntry entry = cached(key, {.is_sound = is_sound_program,
                                 .make = make,
                                 .keeps_parts = false,
                                 .waiting = waiting_note(model)});
  // What an earlier build made of it is not used again.
  if (made) clear_others(subject, key);
  return {entry.path.string(), std::move(entry.lock)};
}

}  // namespace gumbel::cli
