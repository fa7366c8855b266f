#include "base/thread_pool.h"

#include <atomic>
#include <vector>

#include "export/test_files.h"

namespace gumbel {
namespace {

TEST(ThreadPool, RunsEveryIndexExactlyOnce) {
  for (const int threads : {1, 2, 3, 4}) {
    const ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const size_t count : {size_t{0}, size_t{1}, size_t{2}, size_t{7}, size_t{10'000}}) {
      std::vector<std::atomic<int>> visits(count + 1);
      pool.parallel_for(count, [&](size_t i) { ++visits[i]; });
      for (size_t i = 0; i < count; ++i)
        ASSERT_EQ(visits[i], 1) << threads << " threads, index " << i << " of " << count;
      ASSERT_EQ(visits[count], 0);
    }
  }
}

TEST(ThreadPool, ZeroTakesThePhysicalCoresWithinTheQuota) {
  EXPECT_GE(physical_cores(), 1);
  EXPECT_EQ(ThreadPool(0).threads(), within_cpu_quota(physical_cores()));
}

TEST(ThreadPool, RefusesOtherNumbersOfThreads) {
  test::expect_error(ErrorCode::kInvalidArgument, "threads: expected 0 (physical cores) to 1024",
                     [] { ThreadPool(-1); });
  test::expect_error(ErrorCode::kInvalidArgument, "got 1025", [] { ThreadPool(1025); });
}

}  // namespace
}  // namespace gumbel
