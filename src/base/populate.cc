#include "base/populate.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace gumbel {

bool populate(std::span<const std::byte> mapped) {
#ifdef MADV_POPULATE_READ  // since Linux 5.14
  if (mapped.empty()) return true;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = reinterpret_cast<uintptr_t>(mapped.data());
  const uintptr_t begin = first / page * page;
  const size_t bytes = first - begin + mapped.size();
  while (::madvise(reinterpret_cast<void*>(begin), bytes, MADV_POPULATE_READ) != 0)
    if (errno != EINTR && errno != EAGAIN) return errno == EINVAL || errno == ENOSYS;
#endif
  return true;
}

}  // namespace gumbel
