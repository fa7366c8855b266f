#include "export/gguf/file.h"

#include <gtest/gtest.h>

#include <cstring>

#include "export/gguf/writer.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using test::encode;
using test::expect_error;
using test::GgufWriter;
using test::TemporaryFolder;

GgufWriter small_file() {
  GgufWriter writer;
  writer.add_u32("u32", 4'000'000'000u);
  writer.add_i32("i32", -7);
  writer.add_u64("u64", 1ull << 40);
  writer.add_f32("f32", 0.5f);
  writer.add_bool("yes", true);
  writer.add_string("text", "hello");
  writer.add_strings("names", {"a", "", "ccc"});
  writer.add_i32s("ids", {3, -1, 2});
  writer.add_f32s("scores", {-1.5f, 2.0f});
  writer.add_f32_tensor("matrix", {3, 2}, {1, 2, 3, 4, 5, 6});
  writer.add_f32_tensor("vector", {2}, {7, 8});
  return writer;
}

float value_at(const GgufTensor& tensor, size_t index) {
  float value;
  std::memcpy(&value, tensor.data.data() + index * sizeof(float), sizeof(float));
  return value;
}

TEST(GgufFile, ReadsValuesOfEachType) {
  const TemporaryFolder folder;
  const GgufFile file(folder.write("small.gguf", small_file().bytes()));
  EXPECT_EQ(file.name(), "small.gguf");
  EXPECT_EQ(file.integer("u32"), 4'000'000'000);
  EXPECT_EQ(file.integer("i32"), -7);
  EXPECT_EQ(file.integer("u64"), int64_t{1} << 40);
  EXPECT_EQ(file.number("f32"), 0.5);
  EXPECT_EQ(file.number("i32"), -7.0);
  EXPECT_EQ(file.boolean("yes"), true);
  EXPECT_EQ(file.string("text"), "hello");
  EXPECT_EQ(file.strings("names"), (std::vector<std::string_view>{"a", "", "ccc"}));
  EXPECT_EQ(file.integers("ids"), (std::vector<int64_t>{3, -1, 2}));
  EXPECT_EQ(file.numbers("scores"), (std::vector<float>{-1.5f, 2.0f}));
  EXPECT_TRUE(file.is_array("ids"));
  EXPECT_FALSE(file.is_array("u32"));
  EXPECT_FALSE(file.is_array("absent"));
  EXPECT_EQ(file.integer("absent"), std::nullopt);
  EXPECT_EQ(file.strings("absent"), std::nullopt);
}

TEST(GgufFile, ReadsTensorsOutermostDimensionFirst) {
  const TemporaryFolder folder;
  const GgufFile file(folder.write("small.gguf", small_file().bytes()));
  ASSERT_EQ(file.tensors().size(), 2u);
  const GgufTensor* matrix = file.find_tensor("matrix");
  ASSERT_NE(matrix, nullptr);
  EXPECT_EQ(matrix->shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(matrix->rows(), 2);
  EXPECT_EQ(matrix->columns(), 3);
  ASSERT_EQ(matrix->data.size(), 24u);
  EXPECT_EQ(value_at(*matrix, 3), 4.0f);
  EXPECT_EQ(value_at(*file.find_tensor("vector"), 1), 8.0f);
  EXPECT_EQ(file.find_tensor("absent"), nullptr);
}

TEST(GgufFile, ReadsVersion2AndOtherAlignments) {
  const TemporaryFolder folder;
  GgufWriter writer;
  writer.version = 2;
  writer.alignment = 8;
  writer.add_u32("general.alignment", 8);
  writer.add_f32_tensor("first", {1}, {1});
  writer.add_f32_tensor("second", {1}, {2});
  const GgufFile file(folder.write("v2.gguf", writer.bytes()));
  EXPECT_EQ(value_at(*file.find_tensor("first"), 0), 1.0f);
  EXPECT_EQ(value_at(*file.find_tensor("second"), 0), 2.0f);
}

TEST(GgufFile, WrongTypesNameTheKey) {
  const TemporaryFolder folder;
  const GgufFile file(folder.write("small.gguf", small_file().bytes()));
  const auto refuses = [](std::string_view part, const std::function<void()>& action) {
    expect_error(ErrorCode::kCorruptFile, part, action);
  };
  refuses("key 'text': expected an integer", [&] { file.integer("text"); });
  refuses("key 'f32': expected an integer", [&] { file.integer("f32"); });
  refuses("key 'yes': expected an integer", [&] { file.integer("yes"); });
  refuses("key 'ids': expected an integer", [&] { file.integer("ids"); });
  refuses("key 'text': expected a number", [&] { file.number("text"); });
  refuses("key 'u32': expected a bool", [&] { file.boolean("u32"); });
  refuses("key 'names': expected a string, got an array of string", [&] { file.string("names"); });
  refuses("key 'text': expected an array of strings", [&] { file.strings("text"); });
  refuses("key 'names': expected an array of integers", [&] { file.integers("names"); });
  refuses("key 'scores': expected an array of integers", [&] { file.integers("scores"); });
  refuses("key 'ids': expected an array of f32", [&] { file.numbers("ids"); });
}

TEST(GgufFile, IntegersAbove63BitsAreRefused) {
  const TemporaryFolder folder;
  GgufWriter writer;
  writer.add_u64("huge", ~uint64_t{0});
  writer.add_raw("bool", 7, encode<uint8_t>(2));
  const GgufFile file(folder.write("huge.gguf", writer.bytes()));
  expect_error(ErrorCode::kCorruptFile, "'huge'", [&] { file.integer("huge"); });
  expect_error(ErrorCode::kCorruptFile, "'bool'", [&] { file.boolean("bool"); });
}

/// Part `index` of three; the first one has the metadata.
std::string split_part(uint16_t index, uint16_t count = 3, int32_t total = 3) {
  GgufWriter writer;
  if (index == 0) writer.add_string("general.architecture", "llama");
  writer.add_u16("split.no", index);
  writer.add_u16("split.count", count);
  writer.add_i32("split.tensors.count", total);
  writer.add_f32_tensor("tensor" + std::to_string(index), {1}, {static_cast<float>(index)});
  return writer.bytes();
}

TEST(GgufFile, OpensAllPartsOfASplitFileFromAnyOfThem) {
  const TemporaryFolder folder;
  std::vector<std::filesystem::path> parts;
  for (int i = 0; i < 3; ++i)
    parts.push_back(folder.write("m-0000" + std::to_string(i + 1) + "-of-00003.gguf",
                                 split_part(static_cast<uint16_t>(i))));
  for (const auto& part : parts) {
    const GgufFile file(part);
    EXPECT_EQ(file.name(), "m-00001-of-00003.gguf");
    EXPECT_EQ(file.string("general.architecture"), "llama");
    ASSERT_EQ(file.tensors().size(), 3u);
    for (size_t i = 0; i < 3; ++i)
      EXPECT_EQ(value_at(*file.find_tensor("tensor" + std::to_string(i)), 0),
                static_cast<float>(i));
  }
}

TEST(GgufFile, SplitFilesThatDoNotFitTogetherAreRefused) {
  const TemporaryFolder folder;
  const auto first = folder.write("m-00001-of-00003.gguf", split_part(0));
  folder.write("m-00002-of-00003.gguf", split_part(1));
  expect_error(ErrorCode::kNotFound, "m-00003-of-00003.gguf", [&] { GgufFile file(first); });
  folder.write("m-00003-of-00003.gguf", split_part(1));
  expect_error(ErrorCode::kCorruptFile, "expected split.no 2", [&] { GgufFile file(first); });
  folder.write("m-00003-of-00003.gguf", split_part(2, 4));
  expect_error(ErrorCode::kCorruptFile, "split.count 3, got 2 and 4",
               [&] { GgufFile file(first); });
  folder.write("m-00003-of-00003.gguf", GgufWriter().bytes());
  expect_error(ErrorCode::kCorruptFile, "got -1 and -1", [&] { GgufFile file(first); });
  const auto renamed = folder.write("renamed.gguf", split_part(0));
  expect_error(ErrorCode::kNotFound, "-00001-of-00003.gguf", [&] { GgufFile file(renamed); });
}

TEST(GgufFile, SplitFilesMustHaveAllTensorsOnce) {
  const TemporaryFolder folder;
  const auto first = folder.write("m-00001-of-00002.gguf", split_part(0, 2, 5));
  folder.write("m-00002-of-00002.gguf", split_part(1, 2, 5));
  expect_error(ErrorCode::kCorruptFile, "split.tensors.count: expected 2 (in all parts), got 5",
               [&] { GgufFile file(first); });
  GgufWriter twice;
  twice.add_u16("split.no", 1);
  twice.add_u16("split.count", 2);
  twice.add_f32_tensor("tensor0", {1}, {0});
  folder.write("m-00001-of-00002.gguf", split_part(0, 2, 2));
  folder.write("m-00002-of-00002.gguf", twice.bytes());
  expect_error(ErrorCode::kCorruptFile, "tensor 'tensor0' stands twice",
               [&] { GgufFile file(first); });
}

}  // namespace
}  // namespace gumbel
