// A conversation that keeps its history within the context.
#pragma once

#include <gumbel/engine.h>

#include <optional>
#include <string>
#include <vector>

#include "cli/generate.h"

namespace gumbel::cli {

/// A conversation with a model that has a chat template.
class Chat {
 public:
  /// `engine` must outlive the chat. An empty `system` is a system message too.
  explicit Chat(Engine& engine, std::optional<std::string> system = {});

  /// Answers `user`, streaming to standard output. Where the conversation no longer fits the
  /// context, its oldest turns are dropped, whole, and a note on standard error says so. Throws
  /// Error(kInvalidArgument) for a message that does not fit alone; the history is then as before,
  /// and so it is after a message that was interrupted before its answer began.
  Answer send(const std::string& user, const GenerateOptions& options);

  /// Whether answers are thought out from the next one on. Throws Error(kUnsupported) where the
  /// chat template does not have that; all is then as before.
  void set_thinking(Thinking thinking);

  /// Forgets the conversation, but not the system message.
  void reset();

  const Session& session() const { return session_; }
  const Engine& engine() const { return engine_; }

 private:
  std::vector<int64_t> next_tokens(const std::string& user);

  Engine& engine_;
  Session session_;
  std::optional<std::string> system_;
  std::vector<Message> history_;  // user and assistant in turn, without thoughts
  Thinking thinking_ = Thinking::kDefault;
  bool says_thinking_ = true;  // what the session holds was written for `thinking_`
};

/// A chat on the terminal until /exit or the end of input: /reset, /seed N, /temperature T,
/// /thinking on|off.
void run_interactive(Chat& chat, GenerateOptions options, bool statistics);

/// Prints times, rates and memory of `session` to standard error.
void print_statistics(const Engine& engine, const Session& session);

}  // namespace gumbel::cli
