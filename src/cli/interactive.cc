// The chat on a terminal.
#include <fmt/format.h>

#include <charconv>
#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/chat.h"
#include "cli/interrupts.h"
#include "cli/line_editor.h"
#include "cli/options.h"

namespace gumbel::cli {
namespace {

template <typename T>
T parse_number(std::string_view command, std::string_view text) {
  T number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    fail(ErrorCode::kInvalidArgument, "{}: expected a number, got '{}'", command, text);
  return number;
}

// Carries out a line that begins with a slash. False: /exit.
bool run_command(std::string_view line, Chat& chat, GenerateOptions& options) {
  const size_t space = line.find(' ');
  const std::string_view command = line.substr(0, space);
  const std::string_view argument =
      space == std::string_view::npos ? std::string_view() : line.substr(space + 1);
  if (command == "/exit") return false;
  if (command == "/reset") {
    chat.reset();
  } else if (command == "/seed") {
    const Seed seed = parse_seed(argument, command);
    options.sampling.seed = seed.bits;
    if (seed.drawn) fmt::print(stderr, "seed {}\n", seed.bits);
  } else if (command == "/temperature") {
    const auto temperature = parse_number<float>(command, argument);
    if (!(temperature >= 0 && temperature <= 2))
      fail(ErrorCode::kInvalidArgument, "/temperature: expected 0 to 2, got {}", argument);
    options.sampling.temperature = temperature;
  } else if (command == "/thinking") {
    const auto thinking = thinking_named(argument);
    if (!thinking)
      fail(ErrorCode::kInvalidArgument, "/thinking: expected on or off, got '{}'", argument);
    chat.set_thinking(*thinking);
  } else {
    fail(ErrorCode::kInvalidArgument,
         "expected /reset, /seed N, /temperature T, /thinking on|off or /exit, got '{}'", command);
  }
  return true;
}

std::string_view note(EndReason reason) {
  switch (reason) {
    case EndReason::kContextFull:
      return "[the context is full]\n";
    case EndReason::kInterrupted:
      return "[stopped]\n";
    default:
      return "";
  }
}

}  // namespace

void run_interactive(Chat& chat, GenerateOptions options, bool statistics) {
  count_interrupts();
  fmt::print(stderr, "seed {}; /reset, /seed N, /temperature T, {}/exit\n",
             static_cast<uint64_t>(options.sampling.seed),
             chat.engine().info().can_think ? "/thinking on|off, " : "");
  LineEditor editor("> ");
  while (const auto line = editor.read()) {
    if (line->empty()) continue;
    try {
      if (line->starts_with('/')) {
        if (!run_command(*line, chat, options)) break;
        continue;
      }
      // Ctrl-C that was pressed after the line stops its answer before it begins.
      options.interrupts_before = editor.interrupts_before();
      const Answer answer = chat.send(*line, options);
      fmt::print("\n");
      fmt::print(stderr, "{}", note(answer.reason));
      if (statistics) print_statistics(chat.engine(), chat.session());
    } catch (const Error& error) {
      if (error.code() == ErrorCode::kIo) throw;
      fmt::print(stderr, "{}\n", error.what());
      if (error.code() == ErrorCode::kNumeric) chat.reset();
    }
  }
}

}  // namespace gumbel::cli
