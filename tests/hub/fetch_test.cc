// Whole fetches, from a server that misbehaves.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <stdexcept>

#include "hub/hub.h"
#include "hub/local_hub.h"

namespace gumbel {
namespace {

using nlohmann::json;
using test::expect_error;
using test::LocalHub;
using test::read_file;
using test::TemporaryFolder;

// 3 MB that no shift of it equals.
std::string large_contents() {
  std::string text;
  for (int i = 0; text.size() < 3'000'000; ++i) text += std::to_string(i) + ",";
  return text;
}

class Fetch : public testing::Test {
 protected:
  void SetUp() override {
    hub.add("o/m/w.gguf", contents);
    options.endpoint = hub.url();
    options.retry = {.attempts = 4,
                     .first_wait = std::chrono::milliseconds(1),
                     .longest_wait = std::chrono::milliseconds(5)};
  }

  std::filesystem::path fetch(const std::string& name = "o/m") {
    return fetch_model(parse_model_name(name), folder.path(), options);
  }
  // Fetches o/m and expects it whole.
  void expect_whole() {
    const std::filesystem::path path = fetch();
    EXPECT_EQ(path, folder.path() / "w.gguf");
    EXPECT_TRUE(read_file(path) == contents);
    EXPECT_EQ(files_there(), "w.gguf ");
  }
  std::string files_there() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    std::string text;
    for (const std::string& name : names) text += fmt::format("{} ", name);
    return text;
  }
  // Requests of the file.
  std::vector<json> file_requests() const {
    std::vector<json> requests = hub.requests();
    std::erase_if(requests, [](const json& request) {
      return request.at("path").get<std::string>().find("/resolve/") == std::string::npos;
    });
    return requests;
  }

  const std::string contents = large_contents();
  LocalHub hub;
  TemporaryFolder folder;
  HubOptions options;
};

TEST_F(Fetch, AFileWithItsProgress) {
  uint64_t last = 0, total = 0;
  options.progress = [&](const FetchProgress& progress) {
    EXPECT_GE(progress.present, last);
    last = progress.present;
    total = progress.total;
  };
  options.token = "secret";
  expect_whole();
  EXPECT_EQ(last, contents.size());
  EXPECT_EQ(total, contents.size());
  for (const json& request : hub.requests())
    EXPECT_EQ(request.at("authorization"), "Bearer secret");
  options.progress = nullptr;
  expect_whole();
  EXPECT_EQ(file_requests().size(), 1u) << "what is there is not fetched again";
}

TEST_F(Fetch, AFolderWithShardsAndNothingElse) {
  for (const char* name : {"config.json", "tokenizer.json", "README.md", "x.py", "s-1.safetensors",
                           "s-2.safetensors", "s-3.safetensors", "d/config.json", "empty.json"})
    hub.add(std::string("o/sharded/") + name, name);
  hub.add("o/sharded/generation_config.json", "");
  hub.add("o/sharded/model.safetensors.index.json",
          R"({"weight_map": {"a": "s-1.safetensors", "b": "s-3.safetensors"}})");
  hub.set_faults({{"tree/main", {"pages:3*"}}});
  EXPECT_EQ(fetch("o/sharded"), folder.path());
  EXPECT_EQ(files_there(),
            "config.json generation_config.json model.safetensors.index.json s-1.safetensors "
            "s-3.safetensors tokenizer.json ");
  EXPECT_EQ(read_file(folder.path() / "s-3.safetensors"), "s-3.safetensors");
  EXPECT_EQ(read_file(folder.path() / "generation_config.json"), "");
}

TEST_F(Fetch, SplitFilesWithSpacesInTheirFolder) {
  hub.add("o/s/my dir/w-00001-of-00002.gguf", "one");
  hub.add("o/s/my dir/w-00002-of-00002.gguf", "two");
  EXPECT_EQ(fetch("o/s"), folder.path() / "w-00001-of-00002.gguf");
  EXPECT_EQ(files_there(), "w-00001-of-00002.gguf w-00002-of-00002.gguf ");
}

TEST_F(Fetch, CutConnectionsAreResumed) {
  options.retry.attempts = 7;
  hub.set_faults({{"w.gguf", {"cut:1000000", "close", "cut:500000", "500", "less:300000", "429:0"}},
                  {"tree/main", {"close", "503"}}});
  expect_whole();
  const std::vector<json> requests = file_requests();
  ASSERT_EQ(requests.size(), 7u);
  EXPECT_EQ(requests[0].count("range"), 0u);
  const std::string etag = requests[1].at("if-range");
  EXPECT_EQ(etag.size(), 66u);
  const char* const ranges[] = {"bytes=1000000-", "bytes=1000000-", "bytes=1500000-",
                                "bytes=1500000-", "bytes=1800000-", "bytes=1800000-"};
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(requests[i + 1].at("range"), ranges[i]);
    EXPECT_EQ(requests[i + 1].at("if-range"), etag);
  }
}

TEST_F(Fetch, AttemptsThatGetOnDoNotCount) {
  options.retry.attempts = 2;
  hub.set_faults({{"w.gguf", {"cut:1100000", "cut:1100000"}}});
  expect_whole();
  std::filesystem::remove(folder.path() / "w.gguf");
  hub.set_faults({{"w.gguf", {"cut:1000", "cut:1000"}}});
  expect_error(ErrorCode::kIo, "", [&] { fetch(); });
}

TEST_F(Fetch, TheNextProcessResumes) {
  hub.set_faults({{"w.gguf", {"cut:1000000", "close", "close", "close"}}});
  expect_error(ErrorCode::kIo, "/o/m/resolve/main/w.gguf: ", [&] { fetch(); });
  EXPECT_EQ(files_there(), "w.gguf.partial w.gguf.partial.tag ");
  expect_whole();
  EXPECT_EQ(file_requests().back().at("range"), "bytes=1000000-");
  EXPECT_EQ(file_requests().back().count("if-range"), 1u);
}

TEST_F(Fetch, APartOfAnotherVersionIsForgotten) {
  hub.set_faults({{"w.gguf", {"cut:1000000", "404"}}});
  expect_error(ErrorCode::kNotFound, "status 404", [&] { fetch(); });
  hub.add("o/m/w.gguf", "another version");
  EXPECT_EQ(read_file(fetch()), "another version");
  EXPECT_EQ(file_requests().back().count("range"), 0u);
}

TEST_F(Fetch, FilesOfAnotherVersionAreReplaced) {
  hub.add("o/two/config.json", "{\"a\": 1}");
  hub.add("o/two/model.safetensors", "first");
  hub.set_faults({{"model.safetensors", {"404"}}});
  expect_error(ErrorCode::kNotFound, "status 404", [&] { fetch("o/two"); });
  EXPECT_EQ(read_file(folder.path() / "config.json"), "{\"a\": 1}");
  hub.add("o/two/config.json", "{\"a\": 2}");
  hub.add("o/two/model.safetensors", "second");
  fetch("o/two");
  EXPECT_EQ(read_file(folder.path() / "config.json"), "{\"a\": 2}");
  EXPECT_EQ(read_file(folder.path() / "model.safetensors"), "second");
}

TEST_F(Fetch, ADamagedPartIsFetchedAnew) {
  hub.set_faults({{"w.gguf", {"cut:1000000", "404"}}});
  expect_error(ErrorCode::kNotFound, "status 404", [&] { fetch(); });
  const std::string part = read_file(folder.path() / "w.gguf.partial");
  ASSERT_EQ(part.size(), 1'000'000u);
  folder.write("w.gguf.partial", std::string(part.size(), 'x'));
  expect_whole();
  EXPECT_EQ(file_requests().back().count("range"), 0u);
}

TEST_F(Fetch, ServersWithoutRangesSendAllAnew) {
  hub.set_faults({{"w.gguf", {"cut:1000000", "whole"}}});
  expect_whole();
}

TEST_F(Fetch, LiesAboutLengthsAndContents) {
  const std::string url = hub.url() + "/o/m/resolve/main/w.gguf: ";
  const std::pair<json, std::string> cases[] = {
      {{"length:5"}, "expected 3000005 bytes, the server announces 3000010"},
      {{"length:-5"}, "expected 3000005 bytes, the server announces 3000000"},
      {{"more:5"}, "expected 3000005 bytes, the server sends more"},
      {{"cut:1000000", "shifted"}, "expected bytes from 1000000 on, got status 206 with"},
      {{"other"}, "expected contents of SHA-256"},
      {{"body:short"}, "the server announces 5"}};
  ASSERT_EQ(contents.size(), 3'000'005u);
  for (const auto& [faults, part] : cases) {
    hub.set_faults({{"w.gguf", faults}});
    expect_error(ErrorCode::kCorruptFile, part, [&] { fetch(); });
    EXPECT_EQ(std::filesystem::exists(folder.path() / "w.gguf"), false);
    EXPECT_EQ(std::filesystem::file_size(folder.path() / "w.gguf.partial"), 0u);
  }
  expect_whole();
  hub.add("o/small/config.json", "{}");
  hub.add("o/small/model.safetensors", "w");
  hub.set_faults({{"config.json", {"other"}}});
  expect_error(ErrorCode::kCorruptFile, "expected contents of git blob", [&] { fetch("o/small"); });
}

TEST_F(Fetch, RefusalsSayWhatToDo) {
  const std::tuple<const char*, ErrorCode, const char*> cases[] = {
      {"401", ErrorCode::kIo, "set HF_TOKEN, and accept the licence"},
      {"403", ErrorCode::kIo, "set HF_TOKEN, and accept the licence"},
      {"404", ErrorCode::kNotFound, "no such model or file"},
      {"410", ErrorCode::kIo, "status 410 (the server says 'said by the server')"},
      {"429*", ErrorCode::kIo, "too many requests; try again later"},
      {"500*", ErrorCode::kIo, "the server failed; try again later"}};
  for (const auto& [fault, code, part] : cases)
    for (const char* path : {"tree/main", "w.gguf"}) {
      hub.set_faults({{path, {fault}}});
      const size_t before = hub.requests().size();
      expect_error(code, part, [&] { fetch(); });
      expect_error(
          code, hub.url() + (path[0] == 't' ? "/api/models/o/m/tree/main" : "/o/m/resolve"), [&] {
            hub.set_faults({{path, {fault}}});
            fetch();
          });
      // Four attempts at what may pass, one at the rest, each twice; and listings before files.
      const size_t attempts = fault[3] == '*' ? 4 : 1;
      EXPECT_EQ(hub.requests().size() - before, 2 * (attempts + (path[0] == 'w' ? 1 : 0)));
    }
  options.token = "wrong";
  hub.set_faults({{"tree/main", {"401"}}});
  expect_error(ErrorCode::kIo, "HF_TOKEN's owner may not read it", [&] { fetch(); });
  expect_error(ErrorCode::kNotFound, "status 404", [&] { fetch("o/none"); });
  options.endpoint = "http://127.0.0.1:1";
  expect_error(ErrorCode::kIo, "hf:o/m: http://127.0.0.1:1/api/models/o/m/tree/main",
               [&] { fetch(); });
}

TEST_F(Fetch, HostileListings) {
  const auto refuses = [&](const std::string& body, ErrorCode code, const std::string& part) {
    hub.set_faults({{"tree/main", {"body:" + body}}});
    expect_error(code, part, [&] { fetch(); });
  };
  refuses("<html>", ErrorCode::kCorruptFile, "not JSON");
  refuses(R"([{"type": "file", "path": "../x.gguf", "size": 1}])", ErrorCode::kCorruptFile,
          "got '../x.gguf'");
  refuses(std::string(9 << 20, ' '), ErrorCode::kUnsupported, "a page of at most 8388608 bytes");
  // More than any disk has.
  refuses(R"([{"type": "file", "path": "x.gguf", "size": 17592186044416, "lfs": {"oid": ")" +
              std::string(64, 'a') + R"("}}])",
          ErrorCode::kIo, "needs 17592186 MB more, the disk has ");
  hub.set_faults({{"tree/main", {"pages:0*"}}});
  expect_error(ErrorCode::kUnsupported, "at most 100 pages", [&] { fetch(); });
  EXPECT_EQ(files_there(), "");
}

TEST_F(Fetch, CanBeEnded) {
  hub.set_faults({{"w.gguf", {"slow:1000000"}}});
  options.progress = [&](const FetchProgress& progress) {
    if (progress.present == 1'000'000) throw std::runtime_error("enough");
  };
  EXPECT_THROW(fetch(), std::runtime_error);
  options.progress = nullptr;
  expect_whole();
  EXPECT_EQ(file_requests().back().at("range"), "bytes=1000000-");
}

}  // namespace
}  // namespace gumbel
