#include "hub/partial_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "base/error.h"

namespace gumbel {
namespace {

constexpr size_t kMostTagBytes = 256;

// Quoted, printable, not weak: one that If-Range takes.
bool is_strong(const std::string& etag) {
  return etag.size() > 2 && etag.size() <= kMostTagBytes && etag.front() == '"' &&
         etag.back() == '"' &&
         std::all_of(etag.begin(), etag.end(), [](char c) { return c > ' ' && c <= '~'; });
}

}  // namespace

PartialFile::PartialFile(std::filesystem::path path, const HubFile& file)
    : path_(std::move(path)), file_(file), digest_(file.new_digest()) {
  descriptor_ =
      ::open(temporary().c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0666);
  if (descriptor_ < 0) fail(ErrorCode::kIo, "{}: cannot create: {}", temporary(), strerror(errno));
  try {
    read_tag();
    add_what_is_there();
    write_tag();
  } catch (...) {
    ::close(descriptor_);
    throw;
  }
}

PartialFile::~PartialFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

// Two lines: the digest of the whole, and the ETag. Where the first is another, so are the bytes.
void PartialFile::read_tag() {
  std::ifstream tag(tag_path());
  std::string digest, etag;
  std::getline(tag, digest);
  std::getline(tag, etag);
  struct stat status{};
  if (::fstat(descriptor_, &status) != 0 || !S_ISREG(status.st_mode))
    fail(ErrorCode::kIo, "{}: expected a regular file", temporary());
  bytes_ = static_cast<uint64_t>(status.st_size);
  if (digest != file_.digest() || bytes_ > file_.bytes) {
    restart();
    return;
  }
  if (is_strong(etag)) etag_ = etag;
}

void PartialFile::write_tag() const {
  std::ofstream tag(tag_path(), std::ios::trunc);
  tag << file_.digest() << '\n' << etag_ << '\n';
  tag.flush();
  if (!tag) fail(ErrorCode::kIo, "{}: cannot write", tag_path());
}

void PartialFile::add_what_is_there() {
  std::vector<std::byte> block(size_t{1} << 20);
  for (uint64_t at = 0; at < bytes_;) {
    const auto wanted = static_cast<size_t>(std::min<uint64_t>(block.size(), bytes_ - at));
    const ssize_t read = ::pread(descriptor_, block.data(), wanted, static_cast<off_t>(at));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0)
      fail(ErrorCode::kIo, "{}: cannot read {} bytes at {}: {}", temporary(), wanted, at,
           read == 0 ? "the file has become shorter" : strerror(errno));
    digest_.add(std::span(block).first(static_cast<size_t>(read)));
    at += static_cast<uint64_t>(read);
  }
}

void PartialFile::set_etag(const std::string& etag) {
  const std::string strong = is_strong(etag) ? etag : "";
  if (strong == etag_) return;
  etag_ = strong;
  write_tag();
}

void PartialFile::append(std::span<const std::byte> bytes) {
  digest_.add(bytes);
  while (!bytes.empty()) {
    const ssize_t written =
        ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(bytes_));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0)
      fail(ErrorCode::kIo, "{}: cannot write {} bytes at {}: {}", temporary(), bytes.size(), bytes_,
           strerror(errno));
    bytes_ += static_cast<uint64_t>(written);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void PartialFile::restart() {
  if (::ftruncate(descriptor_, 0) != 0)
    fail(ErrorCode::kIo, "{}: cannot overwrite: {}", temporary(), strerror(errno));
  bytes_ = 0;
  digest_ = file_.new_digest();
  set_etag("");
}

std::string PartialFile::digest() { return digest_.hex(); }

void PartialFile::commit() {
  if (::fsync(descriptor_) != 0)
    fail(ErrorCode::kIo, "{}: cannot flush: {}", temporary(), strerror(errno));
  if (::rename(temporary().c_str(), path_.c_str()) != 0)
    fail(ErrorCode::kIo, "{}: cannot rename to {}: {}", temporary(), path_.string(),
         strerror(errno));
  static_cast<void>(::unlink(tag_path().c_str()));
}

}  // namespace gumbel
