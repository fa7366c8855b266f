#include <gtest/gtest.h>

#include <cstring>

#include "export/gguf/writer.h"
#include "export/huggingface/safetensors_file.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using test::data_path;
using test::encode;
using test::expect_error;
using test::TemporaryFolder;

std::string safetensors(const std::string& header, const std::string& data) {
  return encode<uint64_t>(header.size()) + header + data;
}

TEST(Safetensors, ReadsTensorsAndMetadata) {
  const TemporaryFolder folder;
  const std::string data =
      encode(int64_t{-5}) + encode(int64_t{1} << 40) + encode(1.5f) + encode(-2.0f);
  const SafetensorsFile file(folder.write(
      "a.safetensors",
      safetensors(R"({"__metadata__":{"format":"pt"},"ids":{"dtype":"I64","shape":[2],)"
                  R"("data_offsets":[0,16]},"x":{"dtype":"F32","shape":[1,2],)"
                  R"("data_offsets":[16,24]},"none":{"dtype":"F32","shape":[0,4],)"
                  R"("data_offsets":[24,24]}}   )",
                  data)));
  EXPECT_EQ(file.metadata().at("format"), "pt");
  EXPECT_EQ(file.tensors().size(), 3u);
  EXPECT_EQ(file.read_i64("ids"), (std::vector<int64_t>{-5, int64_t{1} << 40}));
  EXPECT_EQ(file.read_f32("x"), (std::vector<float>{1.5f, -2.0f}));
  EXPECT_EQ(file.find("x")->shape, (std::vector<int64_t>{1, 2}));
  EXPECT_TRUE(file.read_f32("none").empty());
  EXPECT_EQ(file.find("absent"), nullptr);
  expect_error(ErrorCode::kNotFound, "tensor 'absent' is missing",
               [&] { file.read_f32("absent"); });
  expect_error(ErrorCode::kUnsupported, "tensor 'x': expected dtype I64, got F32",
               [&] { file.read_i64("x"); });
}

TEST(Safetensors, ReadsAScalar) {
  const TemporaryFolder folder;
  const SafetensorsFile file(folder.write(
      "a.safetensors",
      safetensors(R"({"x":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})", encode(2.5f))));
  EXPECT_EQ(file.read_f32("x"), std::vector<float>{2.5f});
}

TEST(Safetensors, ReadsStoredAnswers) {
  const SafetensorsFile file(data_path("models/llama/answers.safetensors"));
  EXPECT_FALSE(file.tensors().empty());
}

std::string shard(const std::string& name, float value) {
  return safetensors(R"({")" + name + R"(":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                     encode(value));
}

TEST(Safetensors, OpensShardsThroughTheirIndex) {
  const TemporaryFolder folder;
  folder.write("one.safetensors", shard("a", 1));
  folder.write("two.safetensors", shard("b", 2));
  folder.write("model.safetensors.index.json",
               R"({"metadata":{"total_size":8},)"
               R"("weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  const SafetensorsFile file = SafetensorsFile::open_folder(folder.path());
  EXPECT_EQ(file.read_f32("a"), std::vector<float>{1});
  EXPECT_EQ(file.read_f32("b"), std::vector<float>{2});
}

TEST(Safetensors, ShardsThatDoNotFitTheirIndexAreNamed) {
  const TemporaryFolder folder;
  const auto open = [&] { SafetensorsFile::open_folder(folder.path()); };
  const auto index = [&](const std::string& text) {
    folder.write("model.safetensors.index.json", text);
  };
  expect_error(ErrorCode::kNotFound, "expected model.safetensors, or", open);
  folder.write("one.safetensors", shard("a", 1));
  index(R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  expect_error(ErrorCode::kNotFound, "shard 'two.safetensors' is missing", open);
  index(R"({"weight_map":{"a":"one.safetensors","b":"one.safetensors"}})");
  expect_error(ErrorCode::kNotFound, "shard 'one.safetensors' lacks tensor 'b'", open);
  index(R"({"weight_map":{"a":"../one.safetensors"}})");
  expect_error(ErrorCode::kCorruptFile, "expected a file name for 'a'", open);
  index(R"({"weight_map":{"a":5}})");
  expect_error(ErrorCode::kCorruptFile, "expected a file name for 'a'", open);
  index(R"({"weight_map":[]})");
  expect_error(ErrorCode::kCorruptFile, "expected an object with weight_map", open);
  folder.write("two.safetensors", shard("a", 2));
  index(R"({"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  expect_error(ErrorCode::kCorruptFile, "another shard has it as well", open);
}

}  // namespace
}  // namespace gumbel
