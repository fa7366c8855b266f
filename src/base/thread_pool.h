// Data-parallel loops over a fixed set of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>

struct pthreadpool;

namespace gumbel {

/// A fixed set of threads that run the iterations of one loop at a time. The calling thread takes
/// part, so a pool of one thread starts none. Not for concurrent use by several callers.
class ThreadPool {
 public:
  /// `threads` from 1 to 1024; 0 takes default_threads().
  /// Throws Error(kInvalidArgument) for other numbers and Error(kIo) where they cannot be started.
  explicit ThreadPool(int threads);

  int threads() const { return threads_; }

  /// Runs body(i) for every i in [0, count), in any order, and returns when all have run. `body`
  /// must not throw. Allocates nothing.
  template <typename Body>
  void parallel_for(size_t count, const Body& body) const {
    if (threads_ == 1 || count <= 1) {
      for (size_t i = 0; i < count; ++i) body(i);
      return;
    }
    run(
        count, [](void* context, size_t i) { (*static_cast<const Body*>(context))(i); },
        const_cast<Body*>(&body));
  }

 private:
  using Task = void (*)(void* context, size_t i);
  void run(size_t count, Task task, void* context) const;

  struct Deleter {
    void operator()(pthreadpool* pool) const;
  };
  int threads_;
  uint32_t flags_ = 0;
  std::unique_ptr<pthreadpool, Deleter> pool_;
};

/// The number of physical cores that this process may run on (hyperthreads count once); at least 1.
int physical_cores();

/// `count` threads, or as many as the CPU time that control groups allow this process keeps busy,
/// part of one counted as one; at least 1. `root` as for cgroup_cpus().
int within_cpu_quota(int count, const std::filesystem::path& root = "/");

/// The physical cores that this process may run on, within its CPU quota.
int default_threads();

}  // namespace gumbel
