#include "cli/progress_bar.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace gumbel::cli {
namespace {

constexpr size_t kBarWidth = 24;

// The columns of a line that does not wrap.
size_t usable_columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return 200;
  return size.ws_col - size_t{1};
}

}  // namespace

ProgressBar::ProgressBar() : on_terminal_(::isatty(STDERR_FILENO) != 0) {}

ProgressBar::~ProgressBar() {
  if (shown_) fmt::print(stderr, "\n");
}

void ProgressBar::show(uint64_t done, uint64_t total, std::initializer_list<Rate> rates,
                       uint64_t before) {
  if (!on_terminal_ || total == 0 || (whole_ && done >= total)) return;
  const auto now = Clock::now();
  if (shown_ && now - last_ < std::chrono::milliseconds(200) && done < total) return;
  last_ = now;
  shown_ = true;
  whole_ = done >= total;
  const double seconds = std::max(std::chrono::duration<double>(now - start_).count(), 1e-3);
  const double share = std::min(static_cast<double>(done) / static_cast<double>(total), 1.0);
  const auto filled = static_cast<size_t>(share * kBarWidth);
  std::string line = fmt::format("[{}{}] {:3.0f} %", std::string(filled, '='),
                                 std::string(kBarWidth - filled, ' '), 100 * share);
  for (const Rate& rate : rates)
    line +=
        fmt::format(", {:.0f} MB/s {}", static_cast<double>(rate.bytes) / 1e6 / seconds, rate.what);
  const double gained = done > before ? static_cast<double>(done - before) : 0;
  const double left =
      gained > 0 ? seconds * static_cast<double>(total - std::min(done, total)) / gained : 0;
  const auto rounded = static_cast<int64_t>(std::min(std::ceil(left), 1e9));
  line += fmt::format(", {}:{:02} left", rounded / 60, rounded % 60);
  line.resize(std::min(line.size(), usable_columns()));
  fmt::print(stderr, "\r{}\x1b[K", line);  // with the rest of a longer line before it erased
}

}  // namespace gumbel::cli
