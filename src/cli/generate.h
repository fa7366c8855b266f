// Drawing an answer and streaming its text.
#pragma once

#include <gumbel/engine.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gumbel::cli {

struct GenerateOptions {
  Sampling sampling;
  int64_t max_new_tokens = 0;  ///< 0: until the end of the turn or of the context
  std::vector<std::string> stop;
  bool ignore_eos = false;
  /// Printed to standard error once the prompt was accepted, so that an error stands alone there.
  std::string notes;
};

enum class EndReason {
  kEndOfTurn,
  kStopString,
  kMaxNewTokens,
  kContextFull,
  kInterrupted,  ///< Session::stop, by Ctrl-C
};

struct Answer {
  std::string text;
  int64_t tokens = 0;  ///< drawn; 0 where the prompt was interrupted
  EndReason reason = EndReason::kEndOfTurn;
};

/// Feeds `tokens`, draws until something ends the answer, and writes its text to standard output as
/// it comes, a whole character at a time. Ctrl-C stops the answer. Throws Error(kIo) when standard
/// output cannot be written.
Answer generate(Session& session, std::span<const int64_t> tokens, const GenerateOptions& options);

}  // namespace gumbel::cli
