// A file mapped read-only into memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace gumbel {

/// The whole of a regular file, mapped read-only and shared; pages are read when touched.
class MappedFile {
 public:
  MappedFile() = default;
  /// Maps `path`. Throws Error(kIo) naming the path when it cannot be opened or mapped, or is not a
  /// regular file. An empty file gives an empty span.
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const std::byte> bytes() const { return bytes_; }

  /// Takes the pages that `part` of a mapping touches out of this process's memory; they are read
  /// again when touched. Without it, all that was read of a large file counts as resident.
  static void release(std::span<const std::byte> part);

 private:
  std::span<const std::byte> bytes_;
};

}  // namespace gumbel
