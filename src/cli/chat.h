// A conversation that keeps its history within the context.
#pragma once

#include <gumbel/engine.h>

#include <string>
#include <vector>

#include "cli/generate.h"

namespace gumbel::cli {

/// A conversation with a model that has a chat format.
class Chat {
 public:
  /// `engine` must outlive the chat. `system` may be empty.
  Chat(Engine& engine, std::string system);

  /// Answers `user`, streaming to standard output. Where the conversation no longer fits the
  /// context, its oldest turns are dropped, whole, and a note on standard error says so. Throws
  /// Error(kInvalidArgument) for a message that does not fit alone; the history is then as before,
  /// and so it is after a message that was interrupted before its answer began.
  Answer send(const std::string& user, const GenerateOptions& options);

  /// Forgets the conversation, but not the system message.
  void reset();

  const Session& session() const { return session_; }
  const Engine& engine() const { return engine_; }

 private:
  std::vector<int64_t> next_tokens(const std::string& user);

  Engine& engine_;
  Session session_;
  std::string system_;
  std::vector<Message> history_;  // user and assistant in turn
};

/// A chat on the terminal until /exit or the end of input: /reset, /seed N, /temperature T.
void run_interactive(Chat& chat, GenerateOptions options, bool statistics);

/// Prints times, rates and memory of `session` to standard error.
void print_statistics(const Engine& engine, const Session& session);

}  // namespace gumbel::cli
