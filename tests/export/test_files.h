// Files and errors for the tests of importers.
#pragma once

#include <gtest/gtest.h>
#include <gumbel/error.h>

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace gumbel::test {

/// A folder of its own for one test, deleted with it.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  /// Writes a file of these contents into the folder and returns its path.
  std::filesystem::path write(const std::string& name, std::string_view contents) const;

 private:
  std::filesystem::path path_;
};

/// The path of a file under tests/data.
std::filesystem::path data_path(const std::string& name);

std::string read_file(const std::filesystem::path& path);

/// Expects that `action` throws Error with this code and a one-line message that has `part` in it.
void expect_error(ErrorCode code, std::string_view part, const std::function<void()>& action);

/// Runs `action`, which may succeed or throw Error with a one-line message; anything else (another
/// exception, a message of several lines) fails the test. Returns whether it succeeded.
bool succeeds_or_refuses(const std::function<void()>& action);

}  // namespace gumbel::test
