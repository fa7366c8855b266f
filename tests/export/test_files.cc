#include "export/test_files.h"

#include <unistd.h>

#include <fstream>
#include <iterator>

namespace gumbel::test {
namespace {

void expect_one_line(const Error& error) {
  const std::string_view message = error.what();
  EXPECT_FALSE(message.empty());
  for (const char c : message)
    EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20) << "control character in: " << message;
  EXPECT_LT(message.size(), 1000u) << message;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "gumbel-test-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "cannot make a temporary folder";
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::filesystem::path TemporaryFolder::write(const std::string& name,
                                             std::string_view contents) const {
  const std::filesystem::path path = path_ / name;
  // A new file, as some file systems flush one that is truncated and written again.
  std::filesystem::remove(path);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  file.close();
  EXPECT_TRUE(file.good()) << path;
  return path;
}

std::filesystem::path data_path(const std::string& name) {
  return std::filesystem::path(GUMBEL_TEST_DATA) / name;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

void expect_error(ErrorCode code, std::string_view part, const std::function<void()>& action) {
  try {
    action();
    ADD_FAILURE() << "expected an error with: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string_view(error.what()).find(part), std::string_view::npos)
        << "expected \"" << part << "\" in: " << error.what();
    expect_one_line(error);
  }
}

bool succeeds_or_refuses(const std::function<void()>& action) {
  try {
    action();
    return true;
  } catch (const Error& error) {
    expect_one_line(error);
  } catch (const std::exception& error) {
    ADD_FAILURE() << "expected gumbel::Error, got: " << error.what();
  }
  return false;
}

}  // namespace gumbel::test
