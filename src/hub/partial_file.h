// A file that is being fetched, possibly in several goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "hub/digest.h"
#include "hub/listing.h"

namespace gumbel {

/// PATH.partial, which keeps what has come so far between attempts and between processes, with
/// PATH.partial.tag, which says what it is a part of. One process at a time may have it open: the
/// caller holds a lock. Every failure of the system throws Error(kIo) with the path.
class PartialFile {
 public:
  /// Opens the part of `file` that an earlier attempt left, or an empty one. Reads what is there,
  /// for the digest.
  PartialFile(std::filesystem::path path, const HubFile& file);
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  uint64_t bytes() const { return bytes_; }
  /// The ETag that the bytes came with; empty where they had none that names exactly these.
  const std::string& etag() const { return etag_; }
  /// Must be called before the first bytes are appended, with a header's value or nothing.
  void set_etag(const std::string& etag);
  void append(std::span<const std::byte> bytes);
  /// Forgets all bytes.
  void restart();
  /// The digest of all bytes so far, of the kind that the file is known by. Nothing can be appended
  /// after it.
  std::string digest();
  /// Gives the file its name, flushed to the device.
  void commit();

 private:
  void read_tag();
  void write_tag() const;
  void add_what_is_there();
  std::string temporary() const { return path_.string() + ".partial"; }
  std::string tag_path() const { return temporary() + ".tag"; }

  std::filesystem::path path_;
  HubFile file_;
  Digest digest_;
  std::string etag_;
  int descriptor_ = -1;
  uint64_t bytes_ = 0;
};

}  // namespace gumbel
