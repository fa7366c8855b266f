// Cutting an op into pieces for the threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/thread_pool.h"

namespace gumbel::cpu {

/// Elements that are worth waking a thread for, which takes a few microseconds.
inline constexpr int64_t kElementsPerPiece = 16384;

/// Calls body(begin, end) for pieces of [0, count), on the calling thread where `elements`, the
/// work in all, is little.
template <typename Body>
void for_pieces(const ThreadPool& pool, int64_t count, int64_t elements, const Body& body) {
  const int64_t wanted =
      std::min<int64_t>(elements / kElementsPerPiece, int64_t{4} * pool.threads());
  if (wanted <= 1 || pool.threads() == 1) {
    body(0, count);
    return;
  }
  const int64_t piece = (count + wanted - 1) / wanted;
  pool.parallel_for(static_cast<size_t>((count + piece - 1) / piece), [&](size_t i) {
    const int64_t begin = static_cast<int64_t>(i) * piece;
    body(begin, std::min(begin + piece, count));
  });
}

}  // namespace gumbel::cpu
