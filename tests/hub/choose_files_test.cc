#include "hub/choose_files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "export/test_files.h"

namespace gumbel {
namespace {

using test::expect_error;

std::vector<HubFile> listing_of(const std::vector<std::string>& paths) {
  std::vector<HubFile> files;
  for (const std::string& path : paths)
    files.push_back({.path = path, .bytes = 1, .sha256 = std::string(64, 'a'), .git_oid = {}});
  return files;
}

std::string paths_of(const std::vector<HubFile>& files) {
  std::string text;
  for (const HubFile& file : files) text += fmt::format("{} ", file.path);
  return text;
}

FileChoice choose(const std::vector<std::string>& paths, const std::string& name = "o/m") {
  return choose_files(listing_of(paths), parse_model_name(name));
}

TEST(ChooseFiles, AFolderIsWhatAnExportReads) {
  const FileChoice choice =
      choose({"README.md", "config.json", "generation_config.json", "m.gguf", "model.safetensors",
              "onnx/model.onnx", "other/config.json", "pytorch_model.bin", "tokenizer.json",
              "tokenizer.model", "tokenizer_config.json", "chat_template.jinja", "evil.py",
              "consolidated.safetensors", "special_tokens_map.json"});
  EXPECT_EQ(paths_of(choice.files),
            "chat_template.jinja config.json generation_config.json tokenizer.json "
            "special_tokens_map.json tokenizer_config.json model.safetensors ");
  EXPECT_EQ(choice.gguf, "");
  EXPECT_EQ(choice.index, "");
}

TEST(ChooseFiles, ShardsAreThoseOfTheIndex) {
  const std::vector<std::string> paths = {"config.json",
                                          "model.safetensors.index.json",
                                          "model-00001-of-00002.safetensors",
                                          "model-00002-of-00002.safetensors",
                                          "consolidated.safetensors",
                                          "d/x.safetensors"};
  const FileChoice choice = choose(paths);
  EXPECT_EQ(paths_of(choice.files), "config.json model.safetensors.index.json ");
  EXPECT_EQ(choice.index, "model.safetensors.index.json");
  const auto shards = [&](const std::string& map) {
    return paths_of(
        choose_shards(fmt::format(R"({{"weight_map": {}}})", map), listing_of(paths), "x"));
  };
  EXPECT_EQ(shards(R"({"b": "model-00002-of-00002.safetensors",
                       "a": "model-00001-of-00002.safetensors",
                       "c": "model-00001-of-00002.safetensors"})"),
            "model-00001-of-00002.safetensors model-00002-of-00002.safetensors ");
  for (const char* shard : {"gone.safetensors", "../x", "d/x.safetensors", "config.json", ""})
    expect_error(ErrorCode::kNotFound, "is missing",
                 [&] { shards(fmt::format(R"({{"a": "{}"}})", shard)); });
  for (const char* map : {"1", "null", "[]", R"({"a": 1})"})
    expect_error(ErrorCode::kCorruptFile, "weight_map", [&] { shards(map); });
  expect_error(ErrorCode::kCorruptFile, "not JSON", [&] { choose_shards("{", {}, "x"); });
}

TEST(ChooseFiles, TheOnlyGgufFileOrTheOneNamed) {
  EXPECT_EQ(paths_of(choose({"README.md", "config.json", "m.gguf", "mmproj-m.gguf"}).files),
            "m.gguf ");
  EXPECT_EQ(choose({"README.md", "d/m.gguf"}).gguf, "d/m.gguf");
  EXPECT_EQ(
      paths_of(
          choose({"a.gguf", "b.gguf", "config.json", "model.safetensors"}, "o/m:b.gguf").files),
      "b.gguf ");
  expect_error(ErrorCode::kNotFound, "hf:o/m: expected hf:o/m:FILE with one of: a.gguf, b.gguf",
               [] { choose({"b.gguf", "a.gguf"}); });
  expect_error(ErrorCode::kNotFound, "'c.gguf': no such file; expected one of: a.gguf, b.gguf",
               [] { choose({"a.gguf", "b.gguf"}, "o/m:c.gguf"); });
}

TEST(ChooseFiles, SplitFilesComeWhole) {
  const std::vector<std::string> paths = {"q/m-00001-of-00003.gguf", "q/m-00002-of-00003.gguf",
                                          "q/m-00003-of-00003.gguf"};
  for (const std::string name :
       {"o/m", "o/m:q/m-00001-of-00003.gguf", "o/m:q/m-00003-of-00003.gguf"}) {
    const FileChoice choice = choose(paths, name);
    EXPECT_EQ(choice.gguf, paths[0]);
    EXPECT_EQ(paths_of(choice.files), fmt::format("{} {} {} ", paths[0], paths[1], paths[2]));
  }
  expect_error(ErrorCode::kNotFound, "'q/m-00003-of-00003.gguf': no such file",
               [&] { choose({paths[0], paths[1]}); });
  // Numbers that are none, or no part of that many.
  for (const std::string name :
       {"m-00004-of-00003.gguf", "m-00000-of-00003.gguf", "m-0000x-of-00003.gguf",
        "m_00001-of-00003.gguf", "m-00001+of-00003.gguf"})
    EXPECT_EQ(paths_of(choose({name}, fmt::format("o/m:{}", name)).files),
              fmt::format("{} ", name));
}

TEST(ChooseFiles, WhatIsNoModelSaysWhatThereIs) {
  expect_error(ErrorCode::kNotFound, "found: README.md, config.json, pytorch_model.bin",
               [] { choose({"README.md", "config.json", "pytorch_model.bin"}); });
  expect_error(ErrorCode::kNotFound, "found: nothing", [] { choose({}); });
  std::vector<std::string> many;
  for (int i = 0; i < 100; ++i) many.push_back(fmt::format("f{}", i));
  expect_error(ErrorCode::kNotFound, ", f39 and 60 more", [&] { choose(many); });
}

}  // namespace
}  // namespace gumbel
