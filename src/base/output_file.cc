#include "base/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace gumbel {
namespace {

// Whether `path` still is the file that `descriptor` has open.
bool is_same_file(int descriptor, const std::string& path) {
  struct stat opened{}, named{};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

OutputFile::OutputFile(const std::filesystem::path& path)
    : path_(path), temporary_(temporary_path(path).string()) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    fail(ErrorCode::kIo, "{}: expected the name of a file, found a directory or device",
         path.string());
  open_temporary();
}

std::filesystem::path OutputFile::temporary_path(const std::filesystem::path& path) {
  return path.string() + ".partial";
}

void OutputFile::open_temporary() {
  // Not truncated before it is locked: it may be another process's. Nor is a link followed, nor a
  // pipe waited for.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
  do {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = ::open(temporary_.c_str(), kFlags, 0666);
    if (descriptor_ < 0) fail(ErrorCode::kIo, "{}: cannot create: {}", temporary_, strerror(errno));
    // File systems without locks fail otherwise; there, writers are trusted not to meet.
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(descriptor_);
      fail(ErrorCode::kIo, "{}: another process is writing this file", path_.string());
    }
    // Its owner may have renamed or deleted it before the lock was taken.
  } while (!is_same_file(descriptor_, temporary_));
  if (::ftruncate(descriptor_, 0) != 0) {
    const int error = errno;
    ::close(descriptor_);
    fail(ErrorCode::kIo, "{}: cannot overwrite: {}", temporary_, strerror(error));
  }
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::unlink(temporary_.c_str());  // before the lock is given up
  ::close(descriptor_);
}

void OutputFile::write_at(uint64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      fail(ErrorCode::kIo, "{}: cannot write {} bytes at {}: {}", temporary_, bytes.size(), offset,
           strerror(errno));
    offset += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
  start_writeback(offset);
}

void OutputFile::start_writeback(uint64_t end) {
  // Left to itself, the system gathers gigabytes and then stalls whoever writes, or the flush at
  // the end.
  constexpr uint64_t kStep = uint64_t{8} << 20;
  constexpr uint64_t kBehind = uint64_t{64} << 20;
  for (; end >= started_ + kStep; started_ += kStep) {
    bool failed = ::sync_file_range(descriptor_, static_cast<off_t>(started_),
                                    static_cast<off_t>(kStep), SYNC_FILE_RANGE_WRITE) != 0;
    if (!failed && started_ >= kBehind)
      failed = ::sync_file_range(descriptor_, static_cast<off_t>(started_ - kBehind),
                                 static_cast<off_t>(kStep),
                                 SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                     SYNC_FILE_RANGE_WAIT_AFTER) != 0;
    // What else fails is the advice. A failing device must be reported here, as it is reported
    // once.
    if (failed && (errno == EIO || errno == ENOSPC || errno == EDQUOT))
      fail(ErrorCode::kIo, "{}: cannot write {} bytes at {}: {}", temporary_, kStep, started_,
           strerror(errno));
  }
}

void OutputFile::commit() {
  if (::fsync(descriptor_) != 0)
    fail(ErrorCode::kIo, "{}: cannot flush: {}", temporary_, strerror(errno));
  if (::rename(temporary_.c_str(), path_.c_str()) != 0)
    fail(ErrorCode::kIo, "{}: cannot rename to {}: {}", temporary_, path_.string(),
         strerror(errno));
  ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace gumbel
