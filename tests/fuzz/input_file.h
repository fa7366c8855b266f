// A fuzzer's input as a file, for readers that map one.
#pragma once

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>

namespace gumbel {

/// A file in memory that holds `bytes`; its path is valid while it lives.
class InputFile {
 public:
  InputFile(const std::uint8_t* bytes, std::size_t size) : descriptor_(memfd_create("input", 0)) {
    if (descriptor_ < 0 || write(descriptor_, bytes, size) != static_cast<ssize_t>(size)) abort();
  }
  ~InputFile() { close(descriptor_); }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  std::filesystem::path path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

}  // namespace gumbel
