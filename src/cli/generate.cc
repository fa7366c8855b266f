#include "cli/generate.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

#include "base/error.h"
#include "cli/interrupts.h"
#include "cli/word_wrap.h"
#include "text/stop_matcher.h"

namespace gumbel::cli {
namespace {

std::atomic<Session*> running_session = nullptr;
static_assert(std::atomic<Session*>::is_always_lock_free);  // a signal handler reads it

// While it lives, Ctrl-C stops `session`.
class InterruptScope {
 public:
  InterruptScope(Session& session, std::optional<int> interrupts_before) : session_(session) {
    running_session = &session;
    struct sigaction action{};
    action.sa_handler = [](int) {
      note_interrupt();
      if (Session* running = running_session) running->stop();
    };
    action.sa_flags = SA_RESTART;  // a write in progress goes on
    ::sigaction(SIGINT, &action, &previous_);
    if (interrupts_before && interrupts() != *interrupts_before) session.stop();
  }
  ~InterruptScope() {
    ::sigaction(SIGINT, &previous_, nullptr);
    running_session = nullptr;
    // One pressed after the last draw came too late for this answer and is none of the next.
    session_.cancel_stop();
  }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  Session& session_;
  struct sigaction previous_{};
};

// Lays text out for a terminal; what a file or a pipe gets is the text as it is.
class Layout {
 public:
  explicit Layout(int descriptor)
      : descriptor_(descriptor), is_terminal_(::isatty(descriptor) != 0) {}

  bool is_terminal() const { return is_terminal_; }
  std::string add(const std::string& text) {
    if (!is_terminal_) return text;
    winsize size{};
    return wrap_.add(text, ::ioctl(descriptor_, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0);
  }
  void begin_line() { wrap_.begin_line(); }

 private:
  const int descriptor_;
  const bool is_terminal_;
  WordWrap wrap_;
};

// Writes an answer to standard output.
class AnswerWriter {
 public:
  void write(const std::string& answer) {
    const std::string text = layout_.add(answer);
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
      fail(ErrorCode::kIo, "standard output: cannot write: {}", strerror(errno));
  }

 private:
  Layout layout_{STDOUT_FILENO};
};

// Writes a thought to standard error, which may be closed.
class ThoughtWriter {
 public:
  ThoughtWriter() = default;
  ~ThoughtWriter() { end(); }
  ThoughtWriter(const ThoughtWriter&) = delete;
  ThoughtWriter& operator=(const ThoughtWriter&) = delete;

  void write(const std::string& thought) {
    if (thought.empty()) return;
    if (!open_ && layout_.is_terminal()) std::fputs("\x1b[2m", stderr);
    open_ = true;
    const std::string text = layout_.add(thought);
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  }
  // Ends the line, so that what follows begins one.
  void end() {
    if (open_) std::fputs(layout_.is_terminal() ? "\x1b[0m\n" : "\n", stderr);
    layout_.begin_line();
    open_ = false;
  }

 private:
  Layout layout_{STDERR_FILENO};
  bool open_ = false;
};

}  // namespace

Answer generate(Session& session, std::span<const int64_t> tokens, const GenerateOptions& options,
                ReplySplitter* splitter) {
  const InterruptScope interruptible(session, options.interrupts_before);
  StopMatcher stop(options.stop);
  AnswerWriter answer_writer;
  ThoughtWriter thought_writer;
  Answer answer;
  const auto emit_answer = [&](const std::string& text) {
    if (text.empty()) return;
    thought_writer.end();
    answer.text += text;
    answer_writer.write(text);
  };
  const auto emit = [&](const ReplyText& reply) {
    answer.thought += reply.thought;
    thought_writer.write(reply.thought);
    emit_answer(stop.add(reply.answer));
  };
  Token token = session.prefill(tokens, options.sampling);
  fmt::print(stderr, "{}", options.notes);
  while (true) {
    if (token.id < 0) {
      answer.reason = EndReason::kInterrupted;
      break;
    }
    ++answer.tokens;
    emit(splitter ? splitter->add(token) : ReplyText{"", token.text});
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
  if (splitter != nullptr) emit(splitter->finish());
  emit_answer(stop.finish());
  return answer;
}

}  // namespace gumbel::cli
