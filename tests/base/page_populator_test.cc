#include "base/page_populator.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <chrono>
#include <thread>
#include <vector>

#include "base/mapped_file.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

size_t resident_pages(std::span<const std::byte> mapped) {
  std::vector<unsigned char> pages((mapped.size() + 4095) / 4096);
  EXPECT_EQ(::mincore(const_cast<std::byte*>(mapped.data()), mapped.size(), pages.data()), 0);
  size_t count = 0;
  for (const unsigned char page : pages) count += page & 1;
  return count;
}

TEST(PagePopulator, LeavesTheBytesAsTheyAreAndStopsAtAnyTime) {
  const test::TemporaryFolder folder;
  const std::string contents(size_t{40} << 20, 'x');
  const MappedFile file(folder.write("file", contents));
  for (const int milliseconds : {0, 1, 20}) {
    const PagePopulator populator(file.bytes());
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
  }
  // mincore counts the system's own cache, in which a file just written is: what is left to see is
  // that nothing broke.
  EXPECT_GT(resident_pages(file.bytes()), 0u);
  EXPECT_EQ(static_cast<char>(file.bytes()[0]), 'x');
  EXPECT_EQ(static_cast<char>(file.bytes().back()), 'x');
}

TEST(PagePopulator, NothingAndPartsOfPagesAreFine) {
  const PagePopulator nothing(std::span<const std::byte>{});
  const test::TemporaryFolder folder;
  const MappedFile file(folder.write("file", std::string(10'001, 'y')));
  PagePopulator first(file.bytes().subspan(5, 1));
  first = PagePopulator(file.bytes().subspan(4097));  // waits for the one before
  EXPECT_EQ(static_cast<char>(file.bytes().back()), 'y');
}

}  // namespace
}  // namespace gumbel
