// Safetensors files that lie; see gguf_hostile_test.cc.
#include <gtest/gtest.h>

#include "export/gguf/writer.h"
#include "export/huggingface/safetensors_file.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using test::encode;
using test::expect_error;
using test::TemporaryFolder;

std::string file_of(const std::string& header, size_t data_bytes) {
  return encode<uint64_t>(header.size()) + header + std::string(data_bytes, '\0');
}

/// A header of one tensor "w".
std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets +
         "}}";
}

struct Hostile {
  const char* name;
  ErrorCode code;
  const char* part;
  std::string bytes;
};

std::vector<Hostile> hostile_files() {
  std::vector<Hostile> files;
  const auto corrupt = [&](const char* name, const char* part, std::string bytes) {
    files.push_back({name, ErrorCode::kCorruptFile, part, std::move(bytes)});
  };
  corrupt("empty", "the header's length", "");
  corrupt("seven bytes", "the header's length", std::string(7, '\0'));
  corrupt("header of 0 bytes", "not valid JSON", std::string(8, '\0'));
  corrupt("header past the end", "expected 1000 bytes of the header",
          encode<uint64_t>(1000) + "{}");
  corrupt("header of 2^48 bytes", "at most 100000000 bytes, got 281474976710656",
          encode(uint64_t{1} << 48) + "{}");
  corrupt("header of 2^64 - 1 bytes", "at most 100000000 bytes", encode(~uint64_t{0}) + "{}");
  corrupt("garbage", "not valid JSON", file_of("\x01\xFF\x00garbage", 16));
  corrupt("an array", "a header that is a JSON object", file_of("[1]", 0));
  corrupt("nested deeper than any header", "nested deeper than 64",
          file_of(std::string(100'000, '['), 0));
  corrupt("the product does not match", "tensor 'w': expected data_offsets that span 4000000 bytes",
          file_of(entry("F32", "[1000,1000]", "[0,4]"), 4));
  corrupt("product overflow", "overflows",
          file_of(entry("F32", "[9223372036854775807,2]", "[0,4]"), 4));
  corrupt("product overflow to zero", "overflows",
          file_of(entry("U8", "[4294967296,4294967296]", "[0,0]"), 0));
  corrupt("dimension 2^64", "a shape of integers",
          file_of(entry("F32", "[18446744073709551616]", "[0,4]"), 4));
  corrupt("dimension 2^64 - 1", "a shape of integers",
          file_of(entry("F32", "[18446744073709551615]", "[0,4]"), 4));
  corrupt("negative dimension", "a shape of integers", file_of(entry("F32", "[-1]", "[0,4]"), 4));
  corrupt("fractional dimension", "a shape of integers",
          file_of(entry("F32", "[1.0]", "[0,4]"), 4));
  corrupt("text as a dimension", "a shape of integers",
          file_of(entry("F32", "[\"1\"]", "[0,4]"), 4));
  corrupt("offsets past the end", "within the 4 bytes of data",
          file_of(entry("F32", "[2]", "[0,8]"), 4));
  corrupt("offsets of 2^62", "within the 4 bytes of data",
          file_of(entry("F32", "[1]", "[4611686018427387904,4611686018427387908]"), 4));
  corrupt("offsets backwards", "expected data_offsets", file_of(entry("F32", "[1]", "[4,0]"), 4));
  corrupt("negative offset", "data_offsets of integers", file_of(entry("F32", "[1]", "[-4,0]"), 4));
  corrupt("three offsets", "data_offsets (two integers)",
          file_of(entry("F32", "[1]", "[0,4,8]"), 8));
  corrupt("a gap at the start", "there is a gap", file_of(entry("F32", "[1]", "[4,8]"), 8));
  corrupt("bytes left over", "expected 4 bytes of tensor data, got 8",
          file_of(entry("F32", "[1]", "[0,4]"), 8));
  corrupt("no dtype", "expected an object of dtype",
          file_of(R"({"w":{"shape":[1],"data_offsets":[0,4]}})", 4));
  corrupt("a tensor of text", "expected an object of dtype", file_of(R"({"w":"F32"})", 0));
  corrupt("half a byte", "expected data_offsets that span",
          file_of(entry("F4", "[3]", "[0,1]"), 1));
  corrupt("metadata of numbers", "__metadata__", file_of(R"({"__metadata__":{"a":1}})", 0));
  corrupt("metadata of text", "__metadata__", file_of(R"({"__metadata__":"a"})", 0));
  const std::string one = R"({"dtype":"F32","shape":[1],"data_offsets":[0,4]})";
  corrupt("two tensors on one range", "tensor 'b': expected data from byte 4 on (it overlaps",
          file_of(R"({"a":)" + one + R"(,"b":)" + one + "}", 4));
  corrupt("a tensor twice", "key 'a' stands twice",
          file_of(R"({"a":)" + one + R"(,"a":)" + one + "}", 4));
  corrupt("a key twice", "key 'shape' stands twice",
          file_of(R"({"a":{"dtype":"F32","shape":[1],"shape":[2],"data_offsets":[0,4]}})", 4));
  files.push_back({"unknown dtype", ErrorCode::kUnsupported,
                   "tensor 'w': dtype 'Q7' is not one that safetensors defines",
                   file_of(entry("Q7", "[1]", "[0,4]"), 4)});
  return files;
}

TEST(SafetensorsHostile, EachLieIsNamedInOneLine) {
  const TemporaryFolder folder;
  for (const Hostile& hostile : hostile_files()) {
    SCOPED_TRACE(hostile.name);
    const auto path = folder.write("hostile.safetensors", hostile.bytes);
    expect_error(hostile.code, hostile.part, [&] { SafetensorsFile file(path); });
  }
}

std::string small_file() {
  return file_of(
      R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,3],)"
      R"("data_offsets":[0,24]},"b":{"dtype":"I64","shape":[1],"data_offsets":[24,32]}})",
      32);
}

void read_all(const std::filesystem::path& path) {
  const SafetensorsFile file(path);
  for (const auto& [name, tensor] : file.tensors()) {
    if (tensor.dtype == "F32") file.read_f32(name);
    if (tensor.dtype == "I64") file.read_i64(name);
  }
}

TEST(SafetensorsHostile, EveryTruncationIsRefused) {
  const TemporaryFolder folder;
  const std::string whole = small_file();
  read_all(folder.write("whole.safetensors", whole));
  for (size_t length = 0; length < whole.size(); ++length) {
    const auto path = folder.write("cut.safetensors", std::string_view(whole).substr(0, length));
    EXPECT_FALSE(test::succeeds_or_refuses([&] { read_all(path); })) << "at length " << length;
  }
}

TEST(SafetensorsHostile, EveryFlippedByteIsReadOrRefused) {
  const TemporaryFolder folder;
  const std::string whole = small_file();
  int refused = 0;
  for (size_t i = 0; i < whole.size(); ++i)
    for (int flip : {0x01, 0x02, 0x04, 0x08, 0x10, 0x20, 0x40, 0x80, 0xFF}) {
      std::string changed = whole;
      changed[i] = static_cast<char>(changed[i] ^ flip);
      const auto path = folder.write("changed.safetensors", changed);
      if (!test::succeeds_or_refuses([&] { read_all(path); })) ++refused;
      if (HasFailure()) FAIL() << "byte " << i << " flipped by " << flip;
    }
  EXPECT_GT(refused, 0);
}

}  // namespace
}  // namespace gumbel
