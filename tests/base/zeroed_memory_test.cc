#include "base/zeroed_memory.h"

#include <algorithm>
#include <utility>

#include "export/test_files.h"

namespace gumbel {
namespace {

TEST(ZeroedMemory, IsZeroAndAligned) {
  const ZeroedMemory memory(100'000, "a test");
  ASSERT_EQ(memory.bytes().size(), 100'000u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(memory.bytes().data()) % 4096, 0u);
  EXPECT_TRUE(std::all_of(memory.bytes().begin(), memory.bytes().end(),
                          [](std::byte b) { return b == std::byte{0}; }));
}

TEST(ZeroedMemory, NothingIsAnEmptySpan) {
  EXPECT_TRUE(ZeroedMemory(0, "nothing").bytes().empty());
  EXPECT_TRUE(ZeroedMemory().bytes().empty());
}

TEST(ZeroedMemory, MovesItsBytes) {
  ZeroedMemory a(64, "a");
  std::byte* const data = a.bytes().data();
  ZeroedMemory b = std::move(a);
  EXPECT_TRUE(a.bytes().empty());
  EXPECT_EQ(b.bytes().data(), data);
  a = ZeroedMemory(4096, "another");
  EXPECT_EQ(a.bytes().size(), 4096u);
}

TEST(ZeroedMemory, CopiesWhatWasWritten) {
  const size_t kBytes = 3 * 4096 + 100;
  const ZeroedMemory from(kBytes, "a");
  const ZeroedMemory unwritten(kBytes, "b");
  ZeroedMemory to(kBytes, "c");
  for (const size_t at : {size_t{0}, size_t{4095}, size_t{8192}, kBytes - 1})
    from.bytes()[at] = std::byte{7};
  to.copy_written(from);
  EXPECT_TRUE(std::equal(from.bytes().begin(), from.bytes().end(), to.bytes().begin()));
  EXPECT_FALSE(std::equal(from.bytes().begin(), from.bytes().end(), unwritten.bytes().begin()));
}

TEST(ZeroedMemory, NamesWhatTheSystemHasNotEnoughFor) {
  test::expect_error(ErrorCode::kIo, "caches: the system has no",
                     [] { ZeroedMemory(uint64_t{1} << 60, "caches"); });
}

}  // namespace
}  // namespace gumbel
