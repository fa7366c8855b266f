#include "hub/digest.h"

#include <gtest/gtest.h>

#include <string_view>

namespace gumbel {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// FIPS 180-4's example.
TEST(Digest, Sha256) {
  Digest digest = Digest::sha256();
  digest.add(bytes_of("a"));
  digest.add(bytes_of(""));
  digest.add(bytes_of("bc"));
  EXPECT_EQ(digest.hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// What `printf 'hello\n' | git hash-object --stdin` prints, and the same of nothing.
TEST(Digest, GitBlob) {
  Digest digest = Digest::git_blob(6);
  digest.add(bytes_of("hello\n"));
  EXPECT_EQ(digest.hex(), "ce013625030ba8dba906f756967f9e9ca394464a");
  EXPECT_EQ(Digest::git_blob(0).hex(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
}

}  // namespace
}  // namespace gumbel
