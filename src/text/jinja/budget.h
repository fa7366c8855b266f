// What rendering one template may still take.
#pragma once

#include <fmt/format.h>
#include <gumbel/error.h>

#include <cstddef>

#include "text/jinja/jinja.h"

namespace gumbel::jinja {

/// Counts down from `limits`; what would go below zero throws Error(kInvalidArgument) before it is
/// done.
class Budget {
 public:
  explicit Budget(const Limits& limits)
      : limits_(limits), steps_(limits.steps), bytes_(limits.bytes) {}

  void take_steps(std::size_t count = 1) {
    if (count > steps_) refuse(limits_.steps, "steps");
    steps_ -= count;
  }

  void take_bytes(std::size_t count) {
    if (count > bytes_) refuse(limits_.bytes, "bytes");
    bytes_ -= count;
  }

 private:
  [[noreturn]] static void refuse(std::size_t limit, const char* unit) {
    throw Error(ErrorCode::kInvalidArgument,
                fmt::format("rendering takes more than {} {}", limit, unit));
  }

  Limits limits_;
  std::size_t steps_;
  std::size_t bytes_;
};

}  // namespace gumbel::jinja
