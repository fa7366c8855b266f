// Anonymous memory straight from the operating system.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gumbel {

/// Page-aligned memory that reads as zeros; a page takes up memory only once it is written.
class ZeroedMemory {
 public:
  ZeroedMemory() = default;
  /// Throws Error(kIo) naming `purpose` when `bytes` cannot be had.
  ZeroedMemory(uint64_t bytes, const char* purpose);
  ~ZeroedMemory();
  ZeroedMemory(ZeroedMemory&& other) noexcept;
  ZeroedMemory& operator=(ZeroedMemory&& other) noexcept;
  ZeroedMemory(const ZeroedMemory&) = delete;
  ZeroedMemory& operator=(const ZeroedMemory&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }
  /// Copies `other`, of the same size, into memory that is all zeros; pages of zeros stay
  /// untouched.
  void copy_written(const ZeroedMemory& other);

 private:
  std::span<std::byte> bytes_;
};

}  // namespace gumbel
