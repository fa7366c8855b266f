// Running a method of a program.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/zeroed_memory.h"
#include "program/program.h"
#include "runtime/backend.h"
#include "runtime/memory_plan.h"
#include "runtime/session_state.h"

namespace gumbel {

/// A method planned for calls of up to a number of rows and positions. Calls allocate nothing. One
/// at a time: it owns the arena of the values.
class Executor {
 public:
  /// What `program`, `weights` and `backend` refer to must outlive this; `program` is verified.
  /// Throws Error(kInvalidArgument) unless 1 <= max_batch and 1 <= max_time <=
  /// get_max_prefill_chunk, and Error(kUnsupported) where the arena would exceed 2^40 bytes.
  Executor(const Program& program, const Method& method, std::span<const PackedWeight> weights,
           Backend& backend, int64_t max_batch, int64_t max_time);

  /// Calls the method. `inputs` are in the method's order; those with a default may be left out
  /// from the end. `state` may be null for a method without states. Returns the outputs, valid
  /// until the next call. Throws Error(kInvalidArgument) naming the input whose type, shape or
  /// value is refused: tokens outside the vocabulary, positions that are not consecutive, beyond
  /// the maximum sequence length or not next in `state`. Nothing has been computed or stored then.
  std::span<const Tensor> run(std::span<const Tensor> inputs, SessionState* state);

  /// Seconds that sample ops have taken since construction.
  double sampling_seconds() const { return sampling_seconds_; }

 private:
  struct Extent {
    int64_t batch;
    int64_t time;
  };
  Extent check_shapes(std::span<const Tensor> inputs) const;
  void check_values(std::span<const Tensor> inputs, const SessionState* state) const;
  void place_inputs(std::span<const Tensor> inputs);
  Tensor resolved(const Value& value, Extent extent) const;

  const Program& program_;
  const Method& method_;
  Backend& backend_;
  int64_t max_batch_;
  int64_t max_time_;
  MemoryPlan plan_;
  uint64_t scratch_bytes_ = 0;
  ZeroedMemory arena_;  // the values, then scratch
  std::vector<Tensor> values_;
  // Operands of all nodes, one node after the other; a call's spans are cut from these.
  std::vector<Tensor> operands_;
  std::vector<int32_t> operand_values_;  // the value behind each operand
  std::vector<PackedWeight> weights_;
  std::vector<OpCall> calls_;
  std::vector<Tensor> outputs_;
  bool has_state_ = false;
  std::vector<int64_t> token_limits_;  // per input: ids must be below; 0: not tokens
  std::vector<bool> is_position_;      // per input
  double sampling_seconds_ = 0;
};

}  // namespace gumbel
