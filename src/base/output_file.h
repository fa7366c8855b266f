// Writing a file so that its final name only ever holds a complete one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

namespace gumbel {

/// A file under construction next to its final path. Bytes go to PATH.partial, which is locked
/// against other writers; commit() renames it, and a file that is destroyed before that is deleted.
/// What a process that was killed left under the temporary name is overwritten by the next one.
/// Every failure throws Error(kIo).
class OutputFile {
 public:
  /// Creates the temporary file. `path` may name a regular file or nothing. Throws also where
  /// another process is writing the same file.
  explicit OutputFile(const std::filesystem::path& path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  /// Writes all of `bytes` at `offset` (in bytes from the start; a gap reads as zeros). Bytes
  /// written in ascending order go to the device as they come, at most 64 MiB behind.
  void write_at(uint64_t offset, std::span<const std::byte> bytes);
  /// The name under which a file is written before it is complete.
  static std::filesystem::path temporary_path(const std::filesystem::path& path);

  /// Flushes to the device and renames to the final path, replacing what was there.
  void commit();

 private:
  void open_temporary();
  void start_writeback(uint64_t end);

  std::filesystem::path path_;
  std::string temporary_;
  int descriptor_ = -1;
  uint64_t started_ = 0;  // bytes from the start that are on their way to the device
};

}  // namespace gumbel
