// Writing a file so that its final name only ever holds a complete one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace gumbel {

/// A file under construction next to its final path. Bytes go to a temporary name; commit() renames
/// it, and a file that is destroyed before that is deleted. Every failure throws Error(kIo).
class OutputFile {
 public:
  /// Creates the temporary file. `path` may name a regular file or nothing.
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Writes all of `bytes` at `offset` (in bytes from the start; a gap reads as zeros).
  void write_at(uint64_t offset, std::span<const std::byte> bytes);
  /// Flushes to the device and renames to the final path, replacing what was there.
  void commit();

 private:
  std::filesystem::path path_;
  std::string temporary_;
  int descriptor_ = -1;
};

}  // namespace gumbel
