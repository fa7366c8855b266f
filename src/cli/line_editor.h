// Lines typed at a terminal, with editing and history.
#pragma once

#include <memory>
#include <optional>
#include <string>

namespace gumbel::cli {

/// Reads what a person types at standard input, a terminal: arrows, history, words, search
/// (Ctrl-R), UTF-8. Several lines pasted at once are one message, and Alt-Enter begins a new line
/// in one. Only one may live at a time.
class LineEditor {
 public:
  /// `prompt` stands before what is typed, on standard output or, where that is no terminal, on
  /// standard error.
  explicit LineEditor(std::string prompt);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  /// The next message, without its last line end; nothing at the end of input. A signal whose
  /// handler does not restart calls (Ctrl-C) drops what was typed and begins anew.
  std::optional<std::string> read();

  /// interrupts() (interrupts.h) when the last message was complete: one more came after it.
  int interrupts_before() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gumbel::cli
