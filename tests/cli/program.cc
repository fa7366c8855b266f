#include "cli/program.h"

#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

namespace gumbel::test {

std::string quoted(const std::string& text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

namespace {

// Tiny models gain nothing from threads, and a busy machine makes them wait for each other.
const std::string kShellFunction =
    "gumbel() { case \"$*\" in *--threads*) ;; run\\ *|bench\\ *|eval\\ *|selftest*) set -- \"$@\" "
    "--threads 1 ;; esac; " +
    quoted(GUMBEL_PROGRAM) + " \"$@\"; }";

}  // namespace

std::filesystem::path cache_of(const std::filesystem::path& folder) {
  return folder.string() + ".cache";
}

Result shell(const std::filesystem::path& folder, const std::string& command) {
  // Beside the folder, so that what a command writes into the folder is all there is in it.
  const std::string out = folder.string() + ".out";
  const std::string err = folder.string() + ".err";
  // Nothing outside is ever asked for a model, and no cache but the folder's is used.
  const std::string surroundings =
      "export HF_ENDPOINT=http://127.0.0.1:1 GUMBEL_CACHE=" + quoted(cache_of(folder).string()) +
      "; unset HF_TOKEN; ";
  const std::string line = surroundings + "cd " + quoted(folder.string()) + " && " +
                           kShellFunction + " && { " + command + "\n} >" + quoted(out) + " 2>" +
                           quoted(err) + " </dev/null";
  const int status = std::system(line.c_str());
  Result result{WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status), read_file(out),
                read_file(err)};
  std::filesystem::remove(out);
  std::filesystem::remove(err);
  return result;
}

size_t count_lines(const std::string& text) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), '\n'));
}

void expect_refusal(const Result& result, int status, const std::string& part) {
  EXPECT_EQ(result.status, status) << result.err;
  EXPECT_EQ(result.out, "");
  EXPECT_EQ(count_lines(result.err), 1u) << result.err;
  EXPECT_TRUE(result.err.starts_with("gumbel: ") && result.err.ends_with('\n')) << result.err;
  EXPECT_NE(result.err.find(part), std::string::npos)
      << "expected \"" << part << "\" in: " << result.err;
}

TemporaryFolder* CliTest::folder_ = nullptr;

void CliTest::SetUpTestSuite() {
  folder_ = new TemporaryFolder;
  ::setenv("GUMBEL_CACHE", cache_of(folder()).c_str(), 1);
  write_tiny_folder(folder(), "qwen3", /*chat=*/true);
  write_tiny_folder(folder(), "qwen3", /*chat=*/false);
  for (const char* command :
       {"export qwen3-chat -o chat.gumbel --sample", "export qwen3-text -o text.gumbel --sample",
        "export qwen3-chat -o logits.gumbel"}) {
    const Result result = gumbel(command);
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_NE(result.out.find(".gumbel: qwen3 from qwen3-"), std::string::npos) << result.out;
  }
}

std::string CliTest::thinking_program(const std::string& name, const std::string& end) {
  edited(files(), name, folder() / "chat.gumbel", [&](Program& program) {
    // What stands at the end of the prompt begins the thought.
    program.thoughts = {.begin = "assistant\n", .end = end, .header = "", .anywhere = false};
    program.chat_template += "{% if enable_thinking is false %}.{% endif %}";
  });
  return name + ".gumbel";
}

void CliTest::TearDownTestSuite() {
  std::filesystem::remove_all(cache_of(folder()));
  delete folder_;
}

}  // namespace gumbel::test
