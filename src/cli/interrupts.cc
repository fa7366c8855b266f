#include "cli/interrupts.h"

#include <atomic>
#include <csignal>

namespace gumbel::cli {

namespace {

std::atomic<int> count = 0;
static_assert(std::atomic<int>::is_always_lock_free);  // a signal handler writes it

}  // namespace

void count_interrupts() {
  struct sigaction action{};
  action.sa_handler = [](int) { note_interrupt(); };
  ::sigaction(SIGINT, &action, nullptr);
}

int interrupts() { return count; }

void note_interrupt() { ++count; }

}  // namespace gumbel::cli
