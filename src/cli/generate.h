// Drawing an answer and streaming its text.
#pragma once

#include <gumbel/engine.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gumbel::cli {

struct GenerateOptions {
  Sampling sampling;
  int64_t max_new_tokens = 0;     ///< 0: until the end of the turn or of the context
  std::vector<std::string> stop;  ///< texts that end the answer; in a thought they end nothing
  bool ignore_eos = false;
  /// Printed to standard error once the prompt was accepted, so that an error stands alone there.
  std::string notes;
  /// interrupts() that were for what came before: one more stops the answer before it begins.
  std::optional<int> interrupts_before;
};

enum class EndReason {
  kEndOfTurn,
  kStopString,
  kMaxNewTokens,
  kContextFull,
  kInterrupted,  ///< Session::stop, by Ctrl-C
};

struct Answer {
  std::string text;     ///< without the thought
  std::string thought;  ///< what preceded it; may be empty
  int64_t tokens = 0;   ///< drawn; 0 where the prompt was interrupted
  EndReason reason = EndReason::kEndOfTurn;
};

/// Feeds `tokens`, draws until something ends the answer, and writes its text to standard output as
/// it comes, a whole character at a time. A thought goes to standard error, on a line of its own
/// and dimmed where that is a terminal; `splitter` tells the two apart, and without one all is
/// answer. Ctrl-C stops the answer. Throws Error(kIo) when standard output cannot be written.
Answer generate(Session& session, std::span<const int64_t> tokens, const GenerateOptions& options,
                ReplySplitter* splitter = nullptr);

}  // namespace gumbel::cli
