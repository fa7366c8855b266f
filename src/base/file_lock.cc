#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error.h"

namespace gumbel {
namespace {

constexpr useconds_t kPollMicroseconds = 100'000;

// Whether `path` still is the file that `descriptor` has open.
bool is_same_file(int descriptor, const std::filesystem::path& path) {
  struct stat opened{}, named{};
  return ::fstat(descriptor, &opened) == 0 && ::lstat(path.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

FileLock::FileLock(int descriptor, std::filesystem::path path)
    : descriptor_(descriptor), path_(std::move(path)) {}

FileLock::~FileLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

FileLock::FileLock(FileLock&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), path_(std::move(other.path_)) {}

FileLock& FileLock::operator=(FileLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(path_, other.path_);
  return *this;
}

std::optional<FileLock> FileLock::try_take(const std::filesystem::path& path, Kind kind) {
  while (true) {
    FileLock lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666), path);
    if (lock.descriptor_ < 0)
      fail(ErrorCode::kIo, "{}: cannot open: {}", path.string(), strerror(errno));
    const int operation = kind == Kind::kShared ? LOCK_SH : LOCK_EX;
    while (::flock(lock.descriptor_, operation | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return std::nullopt;
      if (errno != EINTR) break;  // no locks here; processes are trusted not to meet
    }
    // Its owner may have deleted it before the lock was taken.
    if (is_same_file(lock.descriptor_, path)) return lock;
  }
}

FileLock FileLock::take(const std::filesystem::path& path, Kind kind,
                        const std::function<void()>& waiting) {
  while (true) {
    if (std::optional<FileLock> lock = try_take(path, kind)) return std::move(*lock);
    if (waiting) waiting();
    ::usleep(kPollMicroseconds);
  }
}

void FileLock::touch() const { static_cast<void>(::futimens(descriptor_, nullptr)); }

void FileLock::remove_file() const { static_cast<void>(::unlink(path_.c_str())); }

}  // namespace gumbel
