#include "base/mapped_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <utility>

#include "export/test_files.h"

namespace gumbel {
namespace {

using test::expect_error;
using test::TemporaryFolder;

std::string text(const MappedFile& file) {
  return {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()};
}

TEST(MappedFile, HoldsTheWholeFile) {
  const TemporaryFolder folder;
  const std::string contents(10'000, 'x');
  EXPECT_EQ(text(MappedFile(folder.write("a", contents))), contents);
}

TEST(MappedFile, AnEmptyFileIsAnEmptySpan) {
  const TemporaryFolder folder;
  EXPECT_TRUE(MappedFile(folder.write("empty", "")).bytes().empty());
}

TEST(MappedFile, RefusesWhatIsNoRegularFile) {
  const TemporaryFolder folder;
  expect_error(ErrorCode::kIo, "missing: cannot open",
               [&] { MappedFile(folder.path() / "missing"); });
  expect_error(ErrorCode::kIo, "expected a regular file", [&] { MappedFile{folder.path()}; });
  expect_error(ErrorCode::kIo, "expected a regular file", [] { MappedFile("/dev/null"); });
}

TEST(MappedFile, APipeIsRefusedWithoutWaitingForItsWriter) {
  const TemporaryFolder folder;
  const auto pipe = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  expect_error(ErrorCode::kIo, "expected a regular file", [&] { MappedFile{pipe}; });
}

// Bytes of files that this process has in memory.
size_t resident_file_bytes() {
  std::ifstream status("/proc/self/status");
  std::string key;
  size_t kilobytes = 0;
  while (status >> key)
    if (key == "RssFile:") status >> kilobytes;
  return kilobytes * 1024;
}

TEST(MappedFile, ReleasedPagesLeaveMemoryAndCanBeReadAgain) {
  const TemporaryFolder folder;
  constexpr size_t kBytes = size_t{32} << 20;
  const std::string contents(kBytes, 'x');
  const MappedFile file(folder.write("a", contents));
  const auto count = [&] {
    return std::count(file.bytes().begin(), file.bytes().end(), std::byte{'x'});
  };
  const size_t before = resident_file_bytes();
  ASSERT_EQ(count(), static_cast<long>(kBytes));
  EXPECT_GE(resident_file_bytes(), before + kBytes - kBytes / 8);
  MappedFile::release(file.bytes().subspan(1, kBytes - 2));
  EXPECT_LE(resident_file_bytes(), before + kBytes / 8);
  EXPECT_EQ(count(), static_cast<long>(kBytes));
  MappedFile::release({});
}

TEST(MappedFile, MovesItsMapping) {
  const TemporaryFolder folder;
  MappedFile a(folder.write("a", "first"));
  MappedFile b = std::move(a);
  EXPECT_TRUE(a.bytes().empty());
  EXPECT_EQ(text(b), "first");
  a = MappedFile(folder.write("b", "second"));
  EXPECT_EQ(text(a), "second");
}

}  // namespace
}  // namespace gumbel
