// Locks between processes, held on files.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>

namespace gumbel {

/// A lock on a file that exists for nothing else (flock). It is given up with the object, and by
/// the system where the process ends, however it ends.
class FileLock {
 public:
  enum class Kind {
    kShared,     ///< several at once
    kExclusive,  ///< alone
  };

  /// Holds nothing.
  FileLock() = default;
  ~FileLock();
  FileLock(FileLock&& other) noexcept;
  FileLock& operator=(FileLock&& other) noexcept;
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  /// Creates `path` where it is missing and waits for the lock. `waiting`, if any, is called about
  /// ten times a second meanwhile; what it throws ends the wait. Throws Error(kIo) where the file
  /// cannot be opened. On file systems without locks it is taken at once.
  static FileLock take(const std::filesystem::path& path, Kind kind,
                       const std::function<void()>& waiting = nullptr);

  /// The same without waiting: nothing where another process holds it.
  static std::optional<FileLock> try_take(const std::filesystem::path& path, Kind kind);

  /// Sets the file's time of change to now, by which the last use of what it stands for is known.
  void touch() const;

  /// Deletes the file, under the lock. Whoever waits for it takes the lock of a new one.
  void remove_file() const;

 private:
  FileLock(int descriptor, std::filesystem::path path);

  int descriptor_ = -1;
  std::filesystem::path path_;
};

}  // namespace gumbel
