#include "cli/source_files.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>

#include "export/test_files.h"

namespace gumbel::cli {
namespace {

using test::TemporaryFolder;

std::string names_of(const std::vector<std::filesystem::path>& files) {
  std::string text;
  for (const auto& file : files) text += fmt::format("{} ", file.filename().string());
  return text;
}

TEST(SourceFiles, AreThoseThatAnExportReads) {
  const TemporaryFolder folder;
  for (const char* name :
       {"config.json", "model.safetensors", "README.md", "tokenizer.json", "x-00001-of-00002.gguf",
        "x-00002-of-00002.gguf", "y-00001-of-00002.gguf", "z.gguf", "w-0000x-of-00002.gguf"})
    folder.write(name, name);
  const auto path = [&](const char* name) { return (folder.path() / name).string(); };
  EXPECT_EQ(names_of(source_files(folder.path().string())),
            "config.json model.safetensors tokenizer.json ");
  EXPECT_EQ(names_of(source_files(path("z.gguf"))), "z.gguf ");
  for (const char* part : {"x-00001-of-00002.gguf", "x-00002-of-00002.gguf"})
    EXPECT_EQ(names_of(source_files(path(part))), "x-00001-of-00002.gguf x-00002-of-00002.gguf ");
  EXPECT_EQ(names_of(source_files(path("y-00001-of-00002.gguf"))), "y-00001-of-00002.gguf ");
  EXPECT_EQ(names_of(source_files(path("w-0000x-of-00002.gguf"))), "w-0000x-of-00002.gguf ");
  EXPECT_EQ(names_of(source_files("random:" + path("config.json"))), "config.json ");
  EXPECT_TRUE(source_files("random:gemma4-31b").empty());
  EXPECT_TRUE(source_files(path("nowhere")).empty());
}

TEST(Fingerprint, TellsNamesSizesAndContentsApart) {
  const TemporaryFolder folder;
  const auto of = [&](const std::vector<std::pair<const char*, const char*>>& files) {
    std::vector<std::filesystem::path> paths;
    for (const auto& [name, contents] : files) paths.push_back(folder.write(name, contents));
    return fingerprint(paths);
  };
  const uint64_t one = of({{"a", "xy"}, {"b", "z"}});
  EXPECT_EQ(of({{"a", "xy"}, {"b", "z"}}), one);
  EXPECT_NE(of({{"a", "x"}, {"b", "yz"}}), one);
  EXPECT_NE(of({{"a", "xy"}, {"b", "Z"}}), one);
  EXPECT_NE(of({{"a", "xy"}, {"c", "z"}}), one);
  EXPECT_NE(of({{"a", "xyz"}}), of({{"a", "xy"}}));
  EXPECT_NE(of({}), of({{"a", ""}}));
}

TEST(Fingerprint, OfLargeFilesHasTheirTimeAndBlocks) {
  const TemporaryFolder folder;
  std::string contents(size_t{20} << 20, 'x');
  const auto path = folder.write("a", contents);
  const auto time = std::filesystem::last_write_time(path);
  const uint64_t one = fingerprint({path});
  EXPECT_EQ(fingerprint({path}), one);
  std::filesystem::last_write_time(path, time + std::chrono::seconds(1));
  EXPECT_NE(fingerprint({path}), one);
  // The first and the last byte are read even where the time is the same.
  for (const size_t at : {size_t{0}, contents.size() - 1}) {
    std::string other = contents;
    other[at] = 'y';
    folder.write("a", other);
    std::filesystem::last_write_time(path, time);
    EXPECT_NE(fingerprint({path}), one) << at;
  }
  folder.write("a", contents);
  std::filesystem::last_write_time(path, time);
  EXPECT_EQ(fingerprint({path}), one);
}

}  // namespace
}  // namespace gumbel::cli
