// The digests that files are known by.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

struct evp_md_ctx_st;

namespace gumbel {

/// A cryptographic digest of bytes that come in pieces.
class Digest {
 public:
  static Digest sha256();
  /// The name git gives to a file of `bytes` bytes: SHA-1 of "blob <bytes>", a zero byte and the
  /// contents.
  static Digest git_blob(uint64_t bytes);

  void add(std::span<const std::byte> bytes);
  /// Lower-case hexadecimal digits. Nothing can be added after it.
  std::string hex();

 private:
  struct Free {
    void operator()(evp_md_ctx_st* context) const;
  };
  explicit Digest(const char* algorithm);

  std::unique_ptr<evp_md_ctx_st, Free> context_;
};

}  // namespace gumbel
