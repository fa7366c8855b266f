// A line on the terminal that says how far something is.
#pragma once

#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace gumbel::cli {

/// A bar on standard error, where that is a terminal, which is redrawn in place a few times a
/// second. Elsewhere nothing is shown.
class ProgressBar {
 public:
  /// A rate to show: bytes since the beginning, and what became of them, e.g. "read".
  struct Rate {
    uint64_t bytes;
    std::string_view what;
  };

  ProgressBar();
  /// Ends the line, so that whatever comes next, an error too, has one of its own.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Shows that `done` of `total` bytes are done, of which `before` were before the bar began: the
  /// time left goes by the others. A total of 0 shows nothing.
  void show(uint64_t done, uint64_t total, std::initializer_list<Rate> rates, uint64_t before = 0);

 private:
  using Clock = std::chrono::steady_clock;

  bool on_terminal_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point last_;
  bool shown_ = false;
  bool whole_ = false;  // what is shown is the end
};

}  // namespace gumbel::cli
