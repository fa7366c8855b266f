#include "base/file_lock.h"

#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "export/test_files.h"

namespace gumbel {
namespace {

using Kind = FileLock::Kind;
using test::TemporaryFolder;

// What another process finds: exit status 0 where it gets the lock.
bool another_gets(const std::filesystem::path& path, Kind kind) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(FileLock::try_take(path, kind) ? 0 : 1);
  int status = 0;
  ::waitpid(child, &status, 0);
  return status == 0;
}

TEST(FileLock, IsSharedOrExclusive) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.lock";
  {
    const FileLock shared = FileLock::take(path, Kind::kShared);
    EXPECT_TRUE(another_gets(path, Kind::kShared));
    EXPECT_FALSE(another_gets(path, Kind::kExclusive));
  }
  {
    FileLock exclusive = FileLock::take(path, Kind::kExclusive);
    EXPECT_FALSE(another_gets(path, Kind::kShared));
    FileLock moved = std::move(exclusive);
    EXPECT_FALSE(another_gets(path, Kind::kExclusive));
    moved = FileLock();
  }
  EXPECT_TRUE(another_gets(path, Kind::kExclusive));
}

TEST(FileLock, WaitsAndCanBeTold) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.lock";
  FileLock held = FileLock::take(path, Kind::kExclusive);
  int calls = 0;
  EXPECT_THROW(FileLock::take(path, Kind::kShared,
                              [&] {
                                if (++calls == 2) throw std::runtime_error("enough");
                              }),
               std::runtime_error);
  const FileLock taken = FileLock::take(path, Kind::kShared, [&] { held = FileLock(); });
  EXPECT_TRUE(another_gets(path, Kind::kShared));
  EXPECT_FALSE(another_gets(path, Kind::kExclusive));
}

// Or two processes would hold locks on two files that had one name.
TEST(FileLock, IsOnTheFileOfThatName) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "a.lock";
  FileLock held = FileLock::take(path, Kind::kExclusive);
  held.remove_file();
  EXPECT_FALSE(std::filesystem::exists(path));
  const FileLock next = FileLock::take(path, Kind::kExclusive);
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_FALSE(another_gets(path, Kind::kShared));
}

TEST(FileLock, NamesWhatItCannotOpen) {
  const TemporaryFolder folder;
  test::expect_error(ErrorCode::kIo, "nowhere/a.lock: cannot open",
                     [&] { FileLock::take(folder.path() / "nowhere" / "a.lock", Kind::kShared); });
}

}  // namespace
}  // namespace gumbel
