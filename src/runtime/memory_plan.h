// Where the values of a method lie in one arena, planned before the first call.
#pragma once

#include <cstdint>
#include <vector>

#include "program/graph.h"

namespace gumbel {

/// A byte range of the arena for each value. Values that are alive at the same time do not overlap;
/// a reshape's output lies where its input does.
struct MemoryPlan {
  std::vector<uint64_t> offsets;  ///< of each value, multiples of 64
  uint64_t bytes = 0;             ///< of the arena
};

/// Plans the values of a verified method for calls of up to `batch` rows and `time` positions.
/// Inputs keep their place until their last use, outputs until the end. Throws
/// Error(kUnsupported) where the arena would exceed 2^40 bytes.
MemoryPlan plan_memory(const Method& method, int64_t batch, int64_t time);

/// For each value the one whose memory it shares: itself, or what it reshapes.
std::vector<int32_t> alias_roots(const Method& method);

/// The dimension with B and T filled in; kPerRow becomes B.
constexpr int64_t resolve(int64_t dim, int64_t batch, int64_t time) {
  return dim == kTime ? time : dim < 0 ? batch : dim;
}

}  // namespace gumbel
