// Names and listings, sound and hostile.
#include "hub/listing.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "export/test_files.h"

namespace gumbel {
namespace {

using test::expect_error;

const std::string kOid(40, 'a');
const std::string kSha256(64, 'b');

TEST(ModelName, IsTakenApart) {
  const ModelName plain = parse_model_name("Qwen/Qwen3-0.6B");
  EXPECT_EQ(plain.owner, "Qwen");
  EXPECT_EQ(plain.name, "Qwen3-0.6B");
  EXPECT_EQ(plain.file, "");
  const ModelName file = parse_model_name("a/b_c.d:Q4/x y.gguf");
  EXPECT_EQ(file.repository(), "a/b_c.d");
  EXPECT_EQ(file.file, "Q4/x y.gguf");
}

TEST(ModelName, RefusesWhatIsNone) {
  for (const std::string text :
       {"", "a", "a/", "/b", "a/b/c", "../b", "a/..", "a/.b", "a b/c", "a/b?x", "a/b#x", "a/b%2e",
        "a/b:", "a/b:x", "a/b:../x.gguf", "a/b:/x.gguf", "a/b:x\n.gguf", "a/b\n", "a@h/b"})
    expect_error(ErrorCode::kInvalidArgument, "expected hf:OWNER/NAME",
                 [&] { parse_model_name(text); });
  expect_error(ErrorCode::kInvalidArgument, "",
               [] { parse_model_name(fmt::format("a/{:b>97}", "")); });
}

TEST(Paths, AreWithinTheRepository) {
  for (const std::string path : {"a", "a/b.c", "..a/b..", "a b", "\xC3\xA4", "a\\b"})
    EXPECT_TRUE(is_sound_path(path)) << path;
  for (const std::string& path :
       {std::string(""), std::string("/a"), std::string("a/"), std::string("a//b"),
        std::string("."), std::string(".."), std::string("a/../b"), std::string("a/.."),
        std::string("a\nb"), std::string("a\0b", 3), std::string("\x7F"), std::string("\xC2\x85"),
        std::string("\xFF"), std::string(256, 'a'), std::string(1025, 'a')})
    EXPECT_FALSE(is_sound_path(path)) << path;
}

TEST(Listing, HasSizesAndDigests) {
  std::vector<HubFile> files;
  append_listing(fmt::format(R"([{{"type": "directory", "path": "d", "oid": "x"}},
                      {{"type": "file", "path": "d/a.json", "size": 7, "oid": "{}"}},
                      {{"type": "file", "path": "b.gguf", "size": 9, "oid": "1",
                        "lfs": {{"oid": "{}", "size": 9, "pointerSize": 1}}, "xetHash": "2"}}])",
                             kOid, kSha256),
                 "x", files);
  ASSERT_EQ(files.size(), 2u);
  EXPECT_EQ(files[0].path, "d/a.json");
  EXPECT_EQ(files[0].name(), "a.json");
  EXPECT_EQ(files[0].bytes, 7u);
  EXPECT_EQ(files[0].digest(), kOid);
  EXPECT_EQ(files[1].bytes, 9u);
  EXPECT_EQ(files[1].digest(), kSha256);
}

TEST(Listing, HostileOnesAreRefusedByName) {
  const auto entry = [](const std::string& path, const std::string& size, const std::string& oid) {
    return fmt::format(R"([{{"type": "file", "path": "{}", "size": {}, "oid": "{}"}}])", path, size,
                       oid);
  };
  const std::pair<std::string, std::string> cases[] = {
      {"", "not JSON"},
      {"{}", "expected an array of files, got object"},
      {"[1]", "expected a JSON object"},
      {"[{}]", "expected the path of a file within the model, got ''"},
      {R"([{"path": 1}])", "path"},
      {std::string(100'000, '['), "at most 8 levels"},
      {entry("../../.bashrc", "1", kOid), "got '../../.bashrc'"},
      {entry("/etc/passwd", "1", kOid), "got '/etc/passwd'"},
      {entry("a\\u0007b", "1", kOid), "got 'a\\x07b'"},
      {entry("a\\u0000", "1", kOid), "got 'a\\x00'"},
      {entry("a", "-1", kOid), "'a': expected a size of 0 to"},
      {entry("a", "99999999999999999", kOid), "'a': expected a size of 0 to"},
      {entry("a", "1e99", kOid), "size"},
      {entry("a", "null", kOid), "size"},
      {entry("a", "1", ""), "'a': oid: expected the id of a git blob"},
      {entry("a", "1", kSha256), "'a': oid: expected the id of a git blob"},
      {entry("a", "1", std::string(40, 'A')), "'a': oid: expected the id of a git blob"},
      {R"([{"type": "file", "path": "a", "size": 1, "lfs": {"oid": "x"}}])",
       "'a': lfs.oid: expected a SHA-256"},
      {R"([{"type": "file", "path": "a", "size": 1, "lfs": 1}])", "lfs"}};
  for (const auto& [json, part] : cases) {
    std::vector<HubFile> files;
    expect_error(ErrorCode::kCorruptFile, part.empty() ? "x: " : part,
                 [&] { append_listing(json, "x", files); });
  }
  std::string many;
  for (int i = 0; i < 20'001; ++i) {
    const std::string one = entry(fmt::format("f{}", i), "1", kOid);
    many += (i == 0 ? "[" : ",");
    many += one.substr(1, one.size() - 2);
  }
  many += "]";
  std::vector<HubFile> files;
  expect_error(ErrorCode::kUnsupported, "at most 20000 files",
               [&] { append_listing(many, "x", files); });
}

TEST(Listing, NextPages) {
  EXPECT_EQ(next_page(""), "");
  EXPECT_EQ(next_page("<https://h/a?b=c>; rel=\"next\""), "https://h/a?b=c");
  EXPECT_EQ(next_page("<u>; rel=\"prev\", <v>; title=\"x\"; rel=\"next\""), "v");
  EXPECT_EQ(next_page("<u>; rel=\"prev\""), "");
  for (const char* broken : {"<", ">", "<u", "u>; rel=\"next\"", "><; rel=\"next\""})
    EXPECT_EQ(next_page(broken), "");
}

}  // namespace
}  // namespace gumbel
