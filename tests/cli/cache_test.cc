// gumbel cache.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <regex>

#include "base/file_lock.h"
#include "cli/program.h"

namespace gumbel::test {
namespace {

using nlohmann::json;

class CacheCommand : public CliTest {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(cache_of(folder()));
    for (const char* model : {"qwen3-chat", "qwen3-text"})
      EXPECT_EQ(gumbel(fmt::format("run {} --prompt a --max-new-tokens 1", model)).status, 0);
  }
  static json listed() { return json::parse(gumbel("cache list --json").out); }
  static std::filesystem::path models() { return cache_of(folder()) / "models"; }
};

TEST_F(CacheCommand, ListsTheLastUsedFirst) {
  ASSERT_EQ(listed().size(), 2u);
  for (const json& entry : listed()) {
    EXPECT_TRUE(std::regex_match(entry.at("key").get<std::string>(), std::regex("[0-9a-f]{16}")));
    EXPECT_EQ(entry.at("kind"), "program");
    EXPECT_EQ(entry.at("source"), (folder() / entry.at("name").get<std::string>()).string());
    EXPECT_EQ(entry.at("settings"), "returns tokens");
    EXPECT_EQ(entry.at("bytes"),
              std::filesystem::file_size(models() / entry.at("key").get<std::string>() /
                                         "program.gumbel"));
    EXPECT_TRUE(std::regex_match(entry.at("last_use").get<std::string>(),
                                 std::regex("20\\d\\d-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ")));
  }
  // Both long ago, and one used again.
  for (const json& entry : listed())
    std::filesystem::last_write_time(
        models() / (entry.at("key").get<std::string>() + ".lock"),
        std::filesystem::file_time_type::clock::now() - std::chrono::hours(100));
  gumbel("run qwen3-chat --prompt a --max-new-tokens 1");
  EXPECT_EQ(listed()[0].at("name"), "qwen3-chat");
  EXPECT_EQ(listed()[1].at("name"), "qwen3-text");
  const Result text = gumbel("cache list");
  EXPECT_EQ(count_lines(text.out), 3u);
  EXPECT_TRUE(std::regex_search(
      text.out,
      std::regex(
          "[0-9a-f]{16}  +\\d\\.\\d MB  20.*Z  program     /.*/qwen3-text \\(returns tokens\\)\n")))
      << text.out;
  EXPECT_TRUE(text.out.ends_with(" MB in 2 entries\n")) << text.out;
  EXPECT_EQ(text.err, "");
}

TEST_F(CacheCommand, ClearsWhatIsNamedOrAll) {
  const std::string key = listed()[0].at("key"), other = listed()[1].at("key");
  EXPECT_EQ(gumbel("cache clear " + key).out, key + ": deleted\n");
  ASSERT_EQ(listed().size(), 1u);
  EXPECT_EQ(listed()[0].at("key"), other);
  expect_refusal(gumbel("cache clear " + key), 1, "expected a key that gumbel cache list shows");
  files().write("kept", "not of the cache");
  for (const char* name : {"../..", "..", "", ".", "0123456789ABCDEF", "*"})
    expect_refusal(gumbel("cache clear " + quoted(name)), 1, "expected a key");
  std::filesystem::create_directory(models() / "something else");
  EXPECT_EQ(gumbel("cache clear").out, other + ": deleted\n");
  EXPECT_EQ(shell(models(), "ls").out, "something else\n");
  EXPECT_EQ(gumbel("cache clear").out, "");
}

TEST_F(CacheCommand, WhatIsInUseStays) {
  const std::string key = listed()[0].at("key");
  const FileLock lock = FileLock::take(models() / (key + ".lock"), FileLock::Kind::kShared);
  expect_refusal(gumbel("cache clear " + key), 1, key + ": a process uses it");
  EXPECT_NE(gumbel("cache clear").out.find(key + ": kept, a process uses it\n"), std::string::npos);
  ASSERT_EQ(listed().size(), 1u);
  EXPECT_EQ(listed()[0].at("key"), key);
}

TEST_F(CacheCommand, HostileRecordsArePrintable) {
  const std::string key = listed()[0].at("key");
  std::filesystem::remove(models() / (key + ".json"));
  files().write("record",
                R"({"kind": "program", "source": "\u001b[31m\n", "file": "program.gumbel"})");
  std::filesystem::copy_file(folder() / "record", models() / (key + ".json"));
  const Result text = gumbel("cache list");
  EXPECT_EQ(count_lines(text.out), 3u);
  EXPECT_NE(text.out.find("\\x1b[31m\\x0a"), std::string::npos) << text.out;
}

TEST_F(CacheCommand, NeedsToBeToldWhat) {
  expect_refusal(gumbel("cache"), 2, "gumbel: cache: expected a command: list, clear");
  expect_refusal(gumbel("cache lst"), 2,
                 "gumbel: cache: unknown command 'lst' (did you mean list?); expected list, clear");
  expect_refusal(gumbel("cache --jsn"), 2, "unknown option '--jsn'; gumbel cache --help lists");
  expect_refusal(gumbel("cache list more"), 2,
                 "gumbel: cache: list: expected no further argument, got 'more'");
  expect_refusal(gumbel("cache list --jsn"), 2,
                 "unknown option '--jsn' (did you mean --json?); gumbel cache list --help lists");
}

}  // namespace
}  // namespace gumbel::test
