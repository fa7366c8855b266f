// Drawing from logits that a program returned, by the same op that programs run.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/zeroed_memory.h"
#include "runtime/backend.h"
#include "sampling/parameters.h"

namespace gumbel {

/// Draws one token at a time from logits [1, V] on a backend. Draws allocate nothing.
class HostSampler {
 public:
  /// `backend` must outlive this.
  HostSampler(Backend& backend, int64_t vocab_size);

  /// The token drawn from `logits` f32 [1, V], or -1 for a row without a valid token.
  int64_t draw(const Tensor& logits, const SamplingParameters& parameters);

 private:
  Backend& backend_;
  Node node_;
  SamplingParameters parameters_;
  int64_t seed_ = 0;
  int64_t position_before_ = 0;
  int64_t token_ = 0;
  std::array<Tensor, 7> inputs_;
  Tensor output_;
  OpCall call_;
  ZeroedMemory scratch_;
};

}  // namespace gumbel
