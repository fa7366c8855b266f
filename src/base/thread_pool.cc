#include "base/thread_pool.h"

#include <pthreadpool.h>
#include <sched.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <latch>
#include <set>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "base/cgroup.h"
#include "base/error.h"

namespace gumbel {
namespace {

// Whether `count` threads can run at once. pthreadpool does not check that its threads started, and
// would wait for the missing ones for ever.
bool can_start(int count) {
  std::latch release(1);
  std::vector<std::jthread> started;
  started.reserve(static_cast<size_t>(count));
  bool all = true;
  try {
    while (started.size() < static_cast<size_t>(count))
      started.emplace_back([&release] { release.wait(); });
  } catch (const std::system_error&) {
    all = false;
  }
  release.count_down();
  return all;
}

int allowed_cpus() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  return sched_getaffinity(0, sizeof(allowed), &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
}

}  // namespace

int physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) return 1;
  // Hyperthreads of one core list the same siblings; a machine that does not say counts each once.
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream file(
        fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list", cpu));
    std::string siblings;
    if (!std::getline(file, siblings)) siblings = fmt::format("cpu{}", cpu);
    cores.insert(siblings);
  }
  return cores.empty() ? 1 : static_cast<int>(cores.size());
}

int within_cpu_quota(int count, const std::filesystem::path& root) {
  const auto cpus = cgroup_cpus(root);
  // The comparison keeps a huge quota out of the conversion.
  if (!cpus || *cpus >= count) return count;
  return std::max(1, static_cast<int>(std::ceil(*cpus)));
}

int default_threads() { return within_cpu_quota(physical_cores()); }

ThreadPool::ThreadPool(int threads) : threads_(threads == 0 ? default_threads() : threads) {
  if (threads_ < 0 || threads_ > 1024)
    fail(ErrorCode::kInvalidArgument, "threads: expected 0 (physical cores) to 1024, got {}",
         threads);
  if (threads_ == 1) return;
  if (!can_start(threads_ - 1))
    fail(ErrorCode::kIo, "threads: the system cannot start {} threads", threads_);
  // Threads that outnumber the CPUs must not spin while they wait: the spinning ones would keep
  // the working ones from running, or use up their quota.
  flags_ = threads_ > within_cpu_quota(allowed_cpus()) ? PTHREADPOOL_FLAG_YIELD_WORKERS : 0;
  pool_.reset(pthreadpool_create(static_cast<size_t>(threads_)));
  if (!pool_) fail(ErrorCode::kIo, "threads: cannot start {} threads", threads_);
}

void ThreadPool::Deleter::operator()(pthreadpool* pool) const { pthreadpool_destroy(pool); }

void ThreadPool::run(size_t count, Task task, void* context) const {
  pthreadpool_parallelize_1d(pool_.get(), task, context, count, flags_);
}

}  // namespace gumbel
