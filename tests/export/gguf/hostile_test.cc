// Files that lie. Each must give a one-line error or, where a change does no harm, be read; nothing
// may crash, read out of bounds (the sanitize preset watches) or allocate more than
// allocation_limit.cc allows.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "export/gguf/file.h"
#include "export/gguf/tiny_gguf.h"
#include "export/gguf/writer.h"
#include "export/import.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using test::encode;
using test::encode_string;
using test::expect_error;
using test::GgufWriter;
using test::TemporaryFolder;

constexpr uint64_t kHuge = uint64_t{1} << 48;
constexpr auto kLargest = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());

struct Hostile {
  const char* name;
  ErrorCode code;
  const char* part;  ///< of the message
  std::string bytes;
};

std::string header(uint64_t tensors, uint64_t values) {
  return "GGUF" + encode<uint32_t>(3) + encode(tensors) + encode(values);
}

std::string with_tensor(const std::vector<uint64_t>& dimensions, uint32_t type, uint64_t offset) {
  GgufWriter writer;
  writer.add_claim("w", dimensions, type, offset);
  return writer.bytes() + std::string(64, '\0');
}

std::vector<Hostile> hostile_files() {
  std::vector<Hostile> files;
  const auto corrupt = [&](const char* name, const char* part, std::string bytes) {
    files.push_back({name, ErrorCode::kCorruptFile, part, std::move(bytes)});
  };
  const auto unsupported = [&](const char* name, const char* part, std::string bytes) {
    files.push_back({name, ErrorCode::kUnsupported, part, std::move(bytes)});
  };
  corrupt("empty", "magic", "");
  corrupt("garbage", "expected the magic \"GGUF\", got '\\x00\\x01\\xff\\x0a'",
          std::string("\0\1\xFF\n", 4) + std::string(60, '\7'));
  unsupported("version 1", "expected GGUF version 2 or 3, got 1",
              "GGUF" + encode<uint32_t>(1) + std::string(64, '\0'));
  unsupported("big-endian", "big-endian",
              "GGUF" + encode<uint32_t>(0x03000000) + std::string(64, '\0'));
  corrupt("key length 2^48", "281474976710656 bytes of a metadata key",
          header(0, 1) + encode(kHuge));
  corrupt("2^48 keys", "metadata key", header(0, kHuge));
  corrupt("2^48 tensors", "tensor's name", header(kHuge, 0));
  corrupt("2^64 - 1 of both", "metadata key", header(~uint64_t{0}, ~uint64_t{0}));
  corrupt("string length 2^48", "metadata string",
          header(0, 1) + encode_string("k") + encode<uint32_t>(8) + encode(kHuge) + "abc");
  corrupt("string length 2^64 - 1", "metadata string",
          header(0, 1) + encode_string("k") + encode<uint32_t>(8) + encode(~uint64_t{0}) + "abc");
  corrupt("array of 2^48 strings", "metadata string",
          header(0, 1) + encode_string("k") + encode<uint32_t>(9) + encode<uint32_t>(8) +
              encode(kHuge) + encode_string("a"));
  corrupt("array of 2^61 u64 (its bytes overflow)", "expected at most",
          header(0, 1) + encode_string("k") + encode<uint32_t>(9) + encode<uint32_t>(10) +
              encode(uint64_t{1} << 61) + std::string(64, '\0'));
  unsupported("array of arrays", "arrays of arrays",
              header(0, 1) + encode_string("k") + encode<uint32_t>(9) + encode<uint32_t>(9) +
                  encode<uint64_t>(1) + std::string(64, '\0'));
  corrupt("value type 13", "value type of 0 to 12, got 13",
          header(0, 1) + encode_string("k") + encode<uint32_t>(13) + std::string(64, '\0'));
  corrupt("element type 99", "got 99",
          header(0, 1) + encode_string("k") + encode<uint32_t>(9) + encode<uint32_t>(99) +
              encode<uint64_t>(1) + std::string(64, '\0'));
  {
    GgufWriter writer;
    writer.add_u32("same", 1);
    writer.add_u32("same", 2);
    corrupt("a key twice", "key 'same' stands twice", writer.bytes());
  }
  {
    GgufWriter writer;
    writer.add_f32_tensor("same", {1}, {1});
    writer.add_f32_tensor("same", {1}, {1});
    corrupt("a tensor twice", "tensor 'same' stands twice", writer.bytes());
  }
  {
    GgufWriter writer;
    writer.add_f32_tensor("first", {16}, std::vector<float>(16));
    writer.add_claim("second", {8}, 0, 32);
    corrupt("overlapping tensors", "overlaps", writer.bytes());
  }
  {
    GgufWriter writer;
    writer.add_f32_tensor("first", {8}, std::vector<float>(8));
    writer.add_claim("second", {8}, 0, 0);
    corrupt("two tensors in one place", "overlaps", writer.bytes());
  }
  for (const uint32_t alignment : {0u, 3u, 48u, 0xFFFFFFFFu}) {
    GgufWriter writer;
    writer.add_u32("general.alignment", alignment);
    corrupt("alignment", "general.alignment: expected a power of two", writer.bytes());
  }
  {
    GgufWriter writer;
    writer.add_string("general.alignment", "32");
    corrupt("alignment of text", "general.alignment: expected a u32", writer.bytes());
  }
  {
    GgufWriter writer;
    writer.add_u32("general.alignment", 0x80000000u);
    writer.add_claim("w", {1}, 0, 0);
    corrupt("alignment beyond the file", "within the 0 bytes", writer.bytes());
  }
  corrupt("no dimensions", "expected 1 to 4 dimensions, got 0", with_tensor({}, 0, 0));
  corrupt("five dimensions", "expected 1 to 4 dimensions, got 5",
          with_tensor({1, 1, 1, 1, 1}, 0, 0));
  corrupt("2^32 - 1 dimensions", "expected 1 to 4 dimensions, got 4294967295",
          header(1, 0) + encode_string("w") + encode<uint32_t>(0xFFFFFFFF));
  corrupt("dimension 0", "expected dimensions of at least 1", with_tensor({0}, 0, 0));
  corrupt("inner dimension 0", "expected dimensions of at least 1", with_tensor({4, 0, 4}, 0, 0));
  corrupt("INT64_MAX x 2", "product below 2^63", with_tensor({kLargest, 2, 1, 1}, 0, 0));
  corrupt("2^63", "product below 2^63", with_tensor({uint64_t{1} << 63}, 0, 0));
  corrupt("2^32 x 2^32", "product below 2^63",
          with_tensor({uint64_t{1} << 32, uint64_t{1} << 32}, 0, 0));
  corrupt("bytes overflow", "overflows 2^63 bytes", with_tensor({kLargest - 7}, 0, 0));
  corrupt("blocks overflow", "overflows 2^63 bytes", with_tensor({kLargest - 255, 1}, 8, 0));
  corrupt("larger than the file", "w': expected its 4194304 bytes",
          with_tensor({1024, 1024}, 0, 0));
  corrupt("offset past the end", "at offset 4096 within", with_tensor({1}, 0, 4096));
  corrupt("offset 2^64 - 32", "within the", with_tensor({1}, 0, ~uint64_t{31}));
  corrupt("offset and size that add up to 0", "within the", with_tensor({8}, 0, ~uint64_t{31}));
  corrupt("unaligned offset", "multiple of 32, got 4", with_tensor({1}, 0, 4));
  corrupt("a row of half a block", "multiple of 32 (q4_0), got 16", with_tensor({16}, 2, 0));
  corrupt("a row of half a K-block", "multiple of 256 (q4_k), got 128", with_tensor({128}, 12, 0));
  unsupported("unknown type", "has type type 77, expected one of f32, f16",
              with_tensor({32}, 77, 0));
  unsupported("known type that Gumbel lacks", "has type iq2_xxs, expected one of",
              with_tensor({256}, 16, 0));
  {
    GgufWriter writer;
    writer.add_u16("split.count", 0);
    corrupt("no parts", "split.count: expected 1 to 99999, got 0", writer.bytes());
  }
  {
    GgufWriter writer;
    writer.add_i32("split.count", std::numeric_limits<int32_t>::max());
    corrupt("2^31 parts", "split.count: expected 1 to 99999", writer.bytes());
  }
  return files;
}

TEST(GgufHostile, EachLieIsNamedInOneLine) {
  const TemporaryFolder folder;
  for (const Hostile& hostile : hostile_files()) {
    SCOPED_TRACE(hostile.name);
    const auto path = folder.write("hostile.gguf", hostile.bytes);
    expect_error(hostile.code, hostile.part, [&] { GgufFile file(path); });
  }
}

TEST(GgufHostile, ControlCharactersOfNamesAreEscaped) {
  const TemporaryFolder folder;
  GgufWriter writer;
  writer.add_f32_tensor("a\nb\x1b[31m", {1}, {1});
  writer.add_f32_tensor("a\nb\x1b[31m", {1}, {1});
  expect_error(ErrorCode::kCorruptFile, "tensor 'a\\x0ab\\x1b[31m' stands twice",
               [&] { GgufFile file(folder.write("names.gguf", writer.bytes())); });
}

GgufWriter whole_model() {
  return test::tiny_llama_with_tokenizer(
      {"<|begin|>", "<|endoftext|>", "a", "b", "ab", "<|im_end|>"});
}

/// Opens the file and reads every weight of it.
void read_all(const std::filesystem::path& path) {
  const ImportedModel model = import_model(path.string());
  test::read_tiny_weights(model);
}

TEST(GgufHostile, EveryTruncationIsRefused) {
  const TemporaryFolder folder;
  const std::string whole = whole_model().bytes();
  const auto path = folder.write("whole.gguf", whole);
  read_all(path);
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto cut = folder.write("cut.gguf", std::string_view(whole).substr(0, length));
    EXPECT_FALSE(test::succeeds_or_refuses([&] { read_all(cut); })) << "at length " << length;
  }
}

TEST(GgufHostile, EveryFlippedByteOfTheHeaderIsReadOrRefused) {
  const TemporaryFolder folder;
  const std::string whole = whole_model().bytes();
  const size_t header_end = whole_model().header_bytes();
  int refused = 0;
  for (size_t i = 0; i < header_end; ++i)
    for (const int flip : {0x01, 0x80, 0xFF}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const auto path = folder.write("changed.gguf", changed);
      if (!test::succeeds_or_refuses([&] { read_all(path); })) ++refused;
      if (HasFailure()) FAIL() << "byte " << i << " flipped by " << flip;
    }
  // Most bytes of a header matter: lengths, names that must exist, types, dimensions, offsets.
  EXPECT_GT(refused, static_cast<int>(header_end));
}

}  // namespace
}  // namespace gumbel
