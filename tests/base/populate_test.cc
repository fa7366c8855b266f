#include "base/populate.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <filesystem>

#include "base/mapped_file.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

TEST(Populate, LeavesTheBytesAsTheyAre) {
  const test::TemporaryFolder folder;
  const MappedFile file(folder.write("file", std::string(size_t{3} << 20, 'x')));
  EXPECT_TRUE(populate(file.bytes()));
  EXPECT_EQ(static_cast<char>(file.bytes()[0]), 'x');
  EXPECT_EQ(static_cast<char>(file.bytes().back()), 'x');
}

TEST(Populate, NothingAndPartsOfPagesAreFine) {
  EXPECT_TRUE(populate({}));
  const test::TemporaryFolder folder;
  const MappedFile file(folder.write("file", std::string(10'001, 'y')));
  for (const size_t offset : {0, 5, 4096, 4097, 10'000})
    EXPECT_TRUE(populate(file.bytes().subspan(offset, 1))) << offset;
}

TEST(Populate, TellsThatTheFileWasCut) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("file", std::string(size_t{1} << 20, 'z'));
  const MappedFile file(path);
  std::filesystem::resize_file(path, 5000);
  EXPECT_TRUE(populate(file.bytes().first(5000)));
#ifdef MADV_POPULATE_READ
  EXPECT_FALSE(populate(file.bytes()));
#endif
}

}  // namespace
}  // namespace gumbel
