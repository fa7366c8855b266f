// Ending cleanly on a signal.
#pragma once

#include <csignal>
#include <iterator>

namespace gumbel::cli {

/// Thrown where a signal ends what is under way; the program then ends as the signal ends it.
struct EndedBySignal {
  int number;
};

/// While it lives, SIGINT, SIGTERM and SIGHUP, where they would end the program, only leave their
/// number behind, so that a file in progress can be removed first; the second one of a kind ends it
/// at once. One at a time.
class SignalScope {
 public:
  SignalScope();
  ~SignalScope();
  SignalScope(const SignalScope&) = delete;
  SignalScope& operator=(const SignalScope&) = delete;

  /// Throws EndedBySignal where a signal has come.
  static void check();

 private:
  static constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
  struct sigaction previous_[std::size(kSignals)]{};
};

}  // namespace gumbel::cli
