#include "cli/signal_scope.h"

#include <cstddef>

namespace gumbel::cli {
namespace {

volatile std::sig_atomic_t pending_signal = 0;

}  // namespace

SignalScope::SignalScope() {
  pending_signal = 0;
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    struct sigaction action{};
    action.sa_handler = [](int number) { pending_signal = number; };
    action.sa_flags = SA_RESTART | SA_RESETHAND;
    ::sigaction(kSignals[i], nullptr, &previous_[i]);
    if (previous_[i].sa_handler == SIG_DFL) ::sigaction(kSignals[i], &action, nullptr);
  }
}

SignalScope::~SignalScope() {
  for (size_t i = 0; i < std::size(kSignals); ++i) ::sigaction(kSignals[i], &previous_[i], nullptr);
}

void SignalScope::check() {
  if (pending_signal != 0) throw EndedBySignal{pending_signal};
}

}  // namespace gumbel::cli
