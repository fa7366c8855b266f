#include "cli/generate.h"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "text/stop_matcher.h"

namespace gumbel::cli {
namespace {

std::atomic<Session*> running_session = nullptr;
static_assert(std::atomic<Session*>::is_always_lock_free);  // a signal handler reads it

// While it lives, Ctrl-C stops `session`.
class InterruptScope {
 public:
  explicit InterruptScope(Session& session) {
    running_session = &session;
    struct sigaction action{};
    action.sa_handler = [](int) {
      if (Session* running = running_session) running->stop();
    };
    action.sa_flags = SA_RESTART;  // a write in progress goes on
    ::sigaction(SIGINT, &action, &previous_);
  }
  ~InterruptScope() {
    ::sigaction(SIGINT, &previous_, nullptr);
    running_session = nullptr;
  }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction previous_{};
};

void write_out(const std::string& text) {
  if (text.empty()) return;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
    fail(ErrorCode::kIo, "standard output: cannot write: {}", strerror(errno));
}

}  // namespace

Answer generate(Session& session, std::span<const int64_t> tokens, const GenerateOptions& options) {
  const InterruptScope interruptible(session);
  StopMatcher stop(options.stop);
  Answer answer;
  const auto emit = [&](const std::string& text) {
    answer.text += text;
    write_out(text);
  };
  Token token = session.prefill(tokens, options.sampling);
  fmt::print(stderr, "{}", options.notes);
  while (true) {
    if (token.id < 0) {
      answer.reason = EndReason::kInterrupted;
      break;
    }
    ++answer.tokens;
    emit(stop.add(token.text));
    if (stop.stopped()) {
      answer.reason = EndReason::kStopString;
      break;
    }
    if (token.eos && !options.ignore_eos) {
      answer.reason = EndReason::kEndOfTurn;
      break;
    }
    if (answer.tokens == options.max_new_tokens) {
      answer.reason = EndReason::kMaxNewTokens;
      break;
    }
    if (session.remaining() == 0) {
      answer.reason = EndReason::kContextFull;
      break;
    }
    token = session.decode(options.sampling);
  }
  emit(stop.finish());
  return answer;
}

}  // namespace gumbel::cli
