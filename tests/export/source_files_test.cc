// That an export replaces no file it reads.
#include <gtest/gtest.h>

#include <map>

#include "backends/reference/reference_backend.h"
#include "export/export.h"
#include "export/gguf/tiny_gguf.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

namespace fs = std::filesystem;
using test::TemporaryFolder;

std::map<std::string, std::string> contents(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::directory_iterator(folder))
    files[entry.path().filename().string()] = test::read_file(entry.path());
  return files;
}

void export_to(const std::string& source, const fs::path& output) {
  export_program(import_model(source), {}, *make_reference_backend(), output);
}

void expect_refusal(const TemporaryFolder& folder, const std::string& source,
                    const std::string& output) {
  SCOPED_TRACE(output);
  const auto before = contents(folder.path());
  test::expect_error(ErrorCode::kInvalidArgument, "expected another file than the source's",
                     [&] { export_to(source, folder.path() / output); });
  EXPECT_EQ(contents(folder.path()), before);
}

TEST(SourceFiles, PartsOfASplitGgufAreNotReplaced) {
  const TemporaryFolder folder;
  test::GgufWriter first = test::tiny_llama();
  test::GgufWriter second;
  int32_t number = 0;
  for (test::GgufWriter* part : {&first, &second}) {
    part->add_i32("split.no", number++);
    part->add_i32("split.count", 2);
  }
  second.add_tensor("output.weight", {32, 8}, 2, test::tiny_q4_0_rows(8));
  const std::string source = folder.write("m-00001-of-00002.gguf", first.bytes()).string();
  folder.write("m-00002-of-00002.gguf", second.bytes());
  EXPECT_EQ(import_model(source).source_files.size(), 2u);
  for (const char* output : {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"})
    expect_refusal(folder, source, output);
  fs::create_hard_link(folder.path() / "m-00002-of-00002.gguf", folder.path() / "hard");
  expect_refusal(folder, source, "hard");
  export_to(source, folder.path() / "m.gguf");
}

TEST(SourceFiles, NorIsAGgufUnderItsTemporaryName) {
  const TemporaryFolder folder;
  const auto source = folder.write("m.gumbel.partial", test::tiny_llama().bytes());
  expect_refusal(folder, source.string(), "m.gumbel");
  expect_refusal(folder, source.string(), "m.gumbel.partial");
}

TEST(SourceFiles, FilesOfAFolderAreNotReplacedButProgramsAre) {
  const TemporaryFolder folder;
  for (const char* file : {"config.json", "model.safetensors"})
    fs::copy(test::data_path("models/llama") / file, folder.path() / file);
  folder.write("README.md", "a model");
  folder.write("tokenizer.model", "");
  fs::create_symlink("model.safetensors", folder.path() / "link");
  const std::string source = folder.path().string();
  for (const char* output :
       {"config.json", "model.safetensors", "README.md", "tokenizer.model", "link"})
    expect_refusal(folder, source, output);
  // A program, once there is one, and what an interrupted export left of another.
  for (int i = 0; i < 2; ++i) export_to(source, folder.path() / "m.gumbel");
  folder.write("n.partial", "left over");
  export_to(source, folder.path() / "n");
  EXPECT_FALSE(fs::exists(folder.path() / "n.partial"));
}

TEST(SourceFiles, TheConfigurationOfARandomModelIsNotReplaced) {
  const TemporaryFolder folder;
  fs::copy(test::data_path("models/llama/config.json"), folder.path() / "config.json");
  expect_refusal(folder, "random:" + (folder.path() / "config.json").string(), "config.json");
}

}  // namespace
}  // namespace gumbel
