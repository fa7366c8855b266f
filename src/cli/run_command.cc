// gumbel run: a prompt, or a chat, answered.
#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "cli/chat.h"
#include "cli/commands.h"
#include "cli/generate.h"
#include "cli/model_source.h"
#include "cli/options.h"

namespace gumbel::cli {
namespace {

struct RunCommand {
  std::string model;
  ExportChoice choice;
  std::string prompt;
  std::string prompt_file;
  SamplingOptions sampling;
  DeviceOptions device;
  int64_t max_new_tokens = 0;
  std::optional<std::string> system;  // empty: an empty system message
  std::string thinking_name;
  std::vector<std::string> stop;
  bool ignore_eos = false;
  bool raw_prompt = false;
  bool statistics = false;
  bool check = false;
  bool host_sampling = false;

  CLI::Option* prompt_option = nullptr;
  CLI::Option* prompt_file_option = nullptr;

  void run() const;
};

// What --prompt-file names; "-" is standard input. One line end at its end is not part of a prompt.
// Reading stops above a size that no context holds, so that an endless file is an error too.
std::string read_prompt(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file || std::filesystem::is_directory(path))
      fail(ErrorCode::kIo, "{}: cannot read the prompt", path);
  }
  std::istream& in = path == "-" ? std::cin : file;
  constexpr size_t kMostBytes = size_t{16} << 20;
  std::string text(kMostBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kMostBytes)
    fail(ErrorCode::kInvalidArgument, "{}: expected a prompt of at most {} bytes, got more", path,
         kMostBytes);
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
  return text;
}

void RunCommand::run() const {
  const bool has_prompt = prompt_option->count() > 0 || prompt_file_option->count() > 0;
  if (!has_prompt && isatty(STDIN_FILENO) == 0)
    throw CLI::ValidationError(
        "expected --prompt TEXT or --prompt-file FILE (- for standard input)");
  const ModelFile file = program_of(model, !host_sampling, choice, device.threads);
  Engine engine(file.path, {device.backend, device.threads, host_sampling, check});
  GenerateOptions options;
  options.sampling = resolve(sampling, engine.info().use_sampling || host_sampling);
  options.max_new_tokens = max_new_tokens;
  options.stop = stop;
  options.ignore_eos = ignore_eos;

  const bool chats = engine.info().has_chat_template && !raw_prompt;
  if (system && !chats)
    fail(ErrorCode::kUnsupported, "--system: expected a program with a chat template{}",
         raw_prompt ? " and no --raw-prompt" : "");
  const std::optional<Thinking> named = thinking_named(thinking_name);
  if (named && !chats)
    fail(ErrorCode::kUnsupported, "--thinking: expected a program with a chat template{}",
         raw_prompt ? " and no --raw-prompt" : "");
  const Thinking thinking = named.value_or(Thinking::kDefault);
  if (!has_prompt) {
    if (!chats)
      fail(ErrorCode::kUnsupported,
           "a chat: expected a program with a chat template; complete text with --prompt");
    Chat chat(engine, system);
    chat.set_thinking(thinking);
    run_interactive(chat, options, statistics);
    return;
  }

  const bool seed_drawn =
      options.sampling.temperature > 0 && sampling.seed.value_or(Seed{0, true}).drawn;
  if (seed_drawn) options.notes += fmt::format("seed: {}\n", options.sampling.seed);
  if (!chats && !raw_prompt)
    options.notes += "the model has no chat template: completing the text as it is\n";
  const std::string text = prompt_option->count() > 0 ? prompt : read_prompt(prompt_file);
  std::vector<Message> messages;
  if (system) messages.push_back({"system", *system});
  messages.push_back({"user", text});
  const std::vector<int64_t> tokens =
      chats ? engine.encode_chat(messages, thinking) : engine.encode(text);
  if (tokens.empty()) fail(ErrorCode::kInvalidArgument, "the prompt: expected at least one token");
  Session session = engine.create_session();
  std::optional<ReplySplitter> splitter;
  if (chats) splitter.emplace(engine.reply_splitter(thinking));
  const Answer answer = generate(session, tokens, options, splitter ? &*splitter : nullptr);
  fmt::print("\n");
  std::fflush(stdout);  // before what goes to standard error
  if (answer.reason == EndReason::kContextFull)
    fmt::print(stderr, "[the context of {} positions is full]\n",
               engine.info().max_sequence_length);
  if (statistics) print_statistics(engine, session);
  if (answer.reason == EndReason::kInterrupted) throw Interrupted();
}

double rate(int64_t tokens, double seconds) {
  return seconds > 0 ? static_cast<double>(tokens) / seconds : 0;
}

}  // namespace

void print_statistics(const Engine& engine, const Session& session) {
  const Statistics& s = session.statistics();
  const double total = s.prefill_seconds + s.decode_seconds;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  fmt::print(stderr, "load:     {:.1f} ms\n", engine.load_seconds() * 1e3);
  fmt::print(stderr, "prefill:  {} tokens, {:.1f} ms, {:.1f} tokens/s\n", s.prefill_tokens,
             s.prefill_seconds * 1e3, rate(s.prefill_tokens, s.prefill_seconds));
  fmt::print(stderr, "decode:   {} tokens, {:.1f} ms, {:.1f} tokens/s\n", s.decode_tokens,
             s.decode_seconds * 1e3, rate(s.decode_tokens, s.decode_seconds));
  fmt::print(stderr, "sampling: {:.2f} ms, {:.2f}% of prefill and decode\n",
             s.sampling_seconds * 1e3, total > 0 ? s.sampling_seconds / total * 100 : 0);
  fmt::print(stderr, "memory:   {} MiB at its peak\n", usage.ru_maxrss >> 10);
}

void add_run_command(CLI::App& app) {
  auto command = std::make_shared<RunCommand>();
  CLI::App* sub = app.add_subcommand(
      "run",
      "Answer a prompt; without one, on a terminal, chat (/reset, /seed N, /temperature T, "
      "/thinking on|off, /exit)");
  add_model_argument(*sub, command->model);
  command->prompt_option = sub->add_option("--prompt", command->prompt, "The user's message");
  command->prompt_file_option =
      sub->add_option("--prompt-file", command->prompt_file, "The same from a file, or - for stdin")
          ->excludes(command->prompt_option);
  add_sampling_options(*sub, command->sampling);
  sub->add_option("--max-new-tokens", command->max_new_tokens,
                  "Tokens to draw at most (default: to the end of the turn or the context)")
      ->check(positive());
  sub->add_option("--system", command->system, "System message");
  add_thinking_option(*sub, command->thinking_name);
  sub->add_option("--stop", command->stop, "Text that ends the answer; may be repeated")
      ->take_all()
      ->allow_extra_args(false);  // one text each, so that MODEL may follow
  sub->add_flag("--ignore-eos", command->ignore_eos, "Go on after the end of the turn");
  sub->add_flag("--raw-prompt", command->raw_prompt,
                "Complete the prompt as it is, without the chat template");
  sub->add_flag("--stats", command->statistics, "Print times and memory to standard error");
  sub->add_flag("--check", command->check,
                "Compare the checksum of every weight first, which otherwise happens on the way");
  sub->add_flag("--host-sampling", command->host_sampling,
                "Draw on the host from a program that returns logits");
  add_export_options(*sub, command->choice);
  add_device_options(*sub, command->device);
  sub->callback([command] { command->run(); });
}

}  // namespace gumbel::cli
