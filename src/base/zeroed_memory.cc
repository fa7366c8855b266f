#include "base/zeroed_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace gumbel {

ZeroedMemory::ZeroedMemory(uint64_t bytes, const char* purpose) {
  if (bytes == 0) return;
  void* address =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED)
    fail(ErrorCode::kIo, "{}: the system has no {} MiB for it", purpose, bytes >> 20);
  bytes_ = {static_cast<std::byte*>(address), bytes};
}

ZeroedMemory::~ZeroedMemory() {
  if (!bytes_.empty()) ::munmap(bytes_.data(), bytes_.size());
}

ZeroedMemory::ZeroedMemory(ZeroedMemory&& other) noexcept
    : bytes_(std::exchange(other.bytes_, {})) {}

ZeroedMemory& ZeroedMemory::operator=(ZeroedMemory&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

void ZeroedMemory::copy_written(const ZeroedMemory& other) {
  constexpr size_t kPage = 4096;
  static constexpr std::byte kZeros[kPage] = {};
  for (size_t first = 0; first < other.bytes_.size(); first += kPage) {
    const std::span page =
        other.bytes_.subspan(first, std::min(kPage, other.bytes_.size() - first));
    if (std::memcmp(page.data(), kZeros, page.size()) != 0)
      std::memcpy(bytes_.data() + first, page.data(), page.size());
  }
}

}  // namespace gumbel
