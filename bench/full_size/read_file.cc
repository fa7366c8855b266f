// How fast threads read a mapped file that does nothing but be read: what decoding a large model
// could reach at best. Prints the gigabytes (1e9 bytes) per second of each repetition: of a plain
// loop, and of one that is written for as much bandwidth as a core gets.
//
//     read_file FILE [THREADS [REPETITIONS]]
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/thread_pool.h"

namespace gumbel {
namespace {

#if defined(__x86_64__)
#define GUMBEL_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define GUMBEL_CLONES
#endif

// The sum of all 64-bit words.
uint64_t plain_sum(const uint64_t* words, size_t count) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) sum += words[i];
  return sum;
}

// The sum of all 64-bit words but the last ones that do not fill a kibibyte. Sixteen cache lines at
// a time, which compilers turn into vectors, keep more loads in flight than one sum would.
GUMBEL_CLONES uint64_t wide_sum(const uint64_t* words, size_t count) {
  constexpr size_t kAtOnce = 128;
  uint64_t sums[kAtOnce] = {};
  for (size_t i = 0; i + kAtOnce <= count; i += kAtOnce)
    for (size_t k = 0; k < kAtOnce; ++k) sums[k] += words[i + k];
  uint64_t sum = 0;
  for (const uint64_t s : sums) sum += s;
  return sum;
}

void read_file(const char* path, int threads, int repetitions) {
  constexpr size_t kPiece = size_t{1} << 24;
  const MappedFile file(path);
  const ThreadPool pool(threads);
  const std::span<const std::byte> bytes = file.bytes();
  std::atomic<uint64_t> sum = 0;  // keeps the loads
  const auto rate = [&](auto sum_of) {
    const auto start = std::chrono::steady_clock::now();
    pool.parallel_for((bytes.size() + kPiece - 1) / kPiece, [&](size_t piece) {
      const size_t first = piece * kPiece;
      sum += sum_of(reinterpret_cast<const uint64_t*>(bytes.data() + first),
                    std::min(kPiece, bytes.size() - first) / sizeof(uint64_t));
    });
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    return static_cast<double>(bytes.size()) / seconds.count() / 1e9;
  };
  rate(plain_sum);  // brings the pages in
  for (int i = 0; i < repetitions; ++i)
    fmt::print("{:.3f} {:.3f}\n", rate(plain_sum), rate(wide_sum));
  if (sum == 1) fmt::print(stderr, "an unlikely sum\n");
}

}  // namespace
}  // namespace gumbel

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: read_file FILE [THREADS [REPETITIONS]]\n");
    return 2;
  }
  try {
    gumbel::read_file(argv[1], argc > 2 ? std::atoi(argv[2]) : 0,
                      argc > 3 ? std::atoi(argv[3]) : 3);
  } catch (const gumbel::Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}
