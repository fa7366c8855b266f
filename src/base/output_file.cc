#include "base/output_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace gumbel {

OutputFile::OutputFile(const std::filesystem::path& path)
    : path_(path), temporary_(path.string() + fmt::format(".{}.partial", ::getpid())) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    fail(ErrorCode::kIo, "{}: expected the name of a file, found a directory or device",
         path.string());
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0) fail(ErrorCode::kIo, "{}: cannot create: {}", temporary_, strerror(errno));
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
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
