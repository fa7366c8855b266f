// The built gumbel program, run as a user runs it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "engine/tiny_programs.h"

namespace gumbel::test {

struct Result {
  int status = -1;  ///< exit status; 128 + signal where one ended the program
  std::string out;
  std::string err;
};

/// Runs a shell command in `folder`, in which `gumbel` is the built program, on one thread unless
/// told otherwise. Standard input is empty.
Result shell(const std::filesystem::path& folder, const std::string& command);

/// The cache of the programs that shell() runs in `folder`: beside it.
std::filesystem::path cache_of(const std::filesystem::path& folder);

/// Expects this status, an empty standard output and one line on standard error that has `part`.
void expect_refusal(const Result& result, int status, const std::string& part);

size_t count_lines(const std::string& text);

/// A folder, written once, with the tiny programs that the tests run.
class CliTest : public testing::Test {
 protected:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

  /// Runs "gumbel " and `arguments`, which name files relative to folder().
  static Result gumbel(const std::string& arguments) {
    return shell(folder(), "gumbel " + arguments);
  }
  /// Writes <name>.gumbel, a copy of chat.gumbel whose prompts are the same, but whose format takes
  /// them for the beginning of a thought that ends at `end`; gives its file name.
  static std::string thinking_program(const std::string& name, const std::string& end);
  static const std::filesystem::path& folder() { return folder_->path(); }
  static const TemporaryFolder& files() { return *folder_; }

 private:
  static TemporaryFolder* folder_;
};

/// `text` for the shell, as one word.
std::string quoted(const std::string& text);

}  // namespace gumbel::test
