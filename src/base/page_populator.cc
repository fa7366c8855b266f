#include "base/page_populator.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <system_error>

namespace gumbel {
namespace {

// Small enough that stopping takes milliseconds where pages come from a disk.
constexpr size_t kStep = size_t{8} << 20;

void populate(const std::stop_token& stop, std::span<const std::byte> mapped) {
#ifdef MADV_POPULATE_READ  // since Linux 5.14
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto next = reinterpret_cast<uintptr_t>(mapped.data()) / page * page;
  const uintptr_t end = reinterpret_cast<uintptr_t>(mapped.data()) + mapped.size();
  while (next < end && !stop.stop_requested()) {
    const size_t bytes = std::min<size_t>(kStep, end - next);
    if (::madvise(reinterpret_cast<void*>(next), bytes, MADV_POPULATE_READ) != 0) return;
    next += kStep;
  }
#else
  static_cast<void>(stop), static_cast<void>(mapped);
#endif
}

}  // namespace

PagePopulator::PagePopulator(std::span<const std::byte> mapped) {
  if (mapped.empty()) return;
  try {
    thread_ = std::jthread([mapped](const std::stop_token& stop) { populate(stop, mapped); });
  } catch (const std::system_error&) {
    // Without a thread, pages come when they are touched.
  }
}

}  // namespace gumbel
