#include "base/output_file.h"

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

#include "export/test_files.h"

namespace gumbel {
namespace {

using test::expect_error;
using test::read_file;
using test::TemporaryFolder;

std::span<const std::byte> bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

size_t entries(const TemporaryFolder& folder) {
  return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder.path()),
                                           std::filesystem::directory_iterator()));
}

TEST(OutputFile, HasItsNameOnlyOnceCommitted) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "out";
  OutputFile file(path);
  file.write_at(6, bytes("world"));
  file.write_at(0, bytes("hello "));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(entries(folder), 1u);
  file.commit();
  EXPECT_EQ(read_file(path), "hello world");
  EXPECT_EQ(entries(folder), 1u);
}

TEST(OutputFile, AGapReadsAsZeros) {
  const TemporaryFolder folder;
  OutputFile file(folder.path() / "out");
  file.write_at(3, bytes("x"));
  file.commit();
  EXPECT_EQ(read_file(folder.path() / "out"), std::string("\0\0\0x", 4));
}

TEST(OutputFile, ReplacesAnOlderFileOnlyAtTheEnd) {
  const TemporaryFolder folder;
  const auto path = folder.write("out", "old");
  {
    OutputFile file(path);
    file.write_at(0, bytes("half"));
    EXPECT_EQ(read_file(path), "old");
  }
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(entries(folder), 1u);
}

TEST(OutputFile, LeavesNothingAfterAnException) {
  const TemporaryFolder folder;
  try {
    OutputFile file(folder.path() / "out");
    file.write_at(0, bytes("some"));
    throw std::runtime_error("stopped");
  } catch (const std::runtime_error&) {
  }
  EXPECT_EQ(entries(folder), 0u);
}

// What a killed process leaves is longer than what follows it.
TEST(OutputFile, OverwritesWhatAKilledProcessLeft) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "out";
  const pid_t child = ::fork();
  if (child == 0) {
    OutputFile file(path);
    file.write_at(0, bytes(std::string(100'000, 'x')));
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(std::filesystem::file_size(folder.path() / "out.partial"), 100'000u);
  OutputFile file(path);
  file.write_at(0, bytes("new"));
  file.commit();
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(entries(folder), 1u);
}

TEST(OutputFile, TwoWritersOfOneFileDoNotMeet) {
  const TemporaryFolder folder;
  const auto path = folder.write("out", "old");
  {
    OutputFile first(path);
    first.write_at(0, bytes("first"));
    expect_error(ErrorCode::kIo, "another process is writing this file", [&] { OutputFile{path}; });
    OutputFile other(folder.path() / "other");
    first.commit();
  }
  EXPECT_EQ(read_file(path), "first");
  OutputFile second(path);
  second.write_at(0, bytes("second"));
  second.commit();
  EXPECT_EQ(read_file(path), "second");
  EXPECT_EQ(entries(folder), 1u);
}

TEST(OutputFile, DoesNotWriteThroughALink) {
  const TemporaryFolder folder;
  const auto target = folder.write("target", "mine");
  std::filesystem::create_symlink(target, folder.path() / "out.partial");
  expect_error(ErrorCode::kIo, "cannot create", [&] { OutputFile{folder.path() / "out"}; });
  EXPECT_EQ(read_file(target), "mine");
}

// More than is kept on its way to the device.
TEST(OutputFile, LargeFilesAreWrittenWhole) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "out";
  constexpr size_t kPiece = size_t{5} << 20;
  std::string piece(kPiece, '\0');
  OutputFile file(path);
  for (size_t i = 0; i < 16; ++i) {
    for (size_t k = 0; k < kPiece; k += 512) piece[k] = static_cast<char>(i + k / 512);
    file.write_at(i * kPiece, bytes(piece));
  }
  file.commit();
  const std::string found = read_file(path);
  ASSERT_EQ(found.size(), 16 * kPiece);
  for (size_t i = 0; i < 16; ++i)
    for (size_t k = 0; k < kPiece; k += 512)
      ASSERT_EQ(found[i * kPiece + k], static_cast<char>(i + k / 512)) << i << " " << k;
}

TEST(OutputFile, RefusesPathsThatCannotBeWritten) {
  const TemporaryFolder folder;
  expect_error(ErrorCode::kIo, "found a directory", [&] { OutputFile{folder.path()}; });
  expect_error(ErrorCode::kIo, "found a directory or device", [] { OutputFile("/dev/null"); });
  expect_error(ErrorCode::kIo, "cannot create", [&] { OutputFile(folder.path() / "no" / "out"); });
  expect_error(ErrorCode::kIo, "cannot create",
               [&] { OutputFile(folder.path() / std::string(300, 'n')); });
}

// A process that may not make files larger sees the same failing writes as one whose disk is full.
TEST(OutputFile, AFullDeviceIsAnErrorThatLeavesNothing) {
  const TemporaryFolder folder;
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 5000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  expect_error(ErrorCode::kIo, "cannot write", [&] {
    OutputFile file(folder.path() / "out");
    file.write_at(0, bytes(std::string(4000, 'a')));
    file.write_at(4000, bytes(std::string(4000, 'b')));
    file.commit();
  });
  EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(entries(folder), 0u);
}

}  // namespace
}  // namespace gumbel
