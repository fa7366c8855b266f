// What a session keeps between calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/zeroed_memory.h"
#include "program/program.h"
#include "runtime/backend.h"

namespace gumbel {

/// The key-value caches and recurrent states of one session, and how far each row of its batch has
/// come.
class SessionState {
 public:
  /// Reserves caches for `batch` rows of up to get_max_seq_len positions; memory is taken up as it
  /// is written. A cache with a window holds window + get_max_prefill_chunk positions.
  SessionState(const Program& program, int64_t batch);
  /// A copy that goes on by itself: what is fed to one does not reach the other. Only memory that
  /// was written is taken up.
  SessionState branch() const;

  int64_t batch() const { return static_cast<int64_t>(lengths_.size()); }
  /// Positions that row `row` holds: the next input position.
  int64_t length(int64_t row) const { return lengths_[static_cast<size_t>(row)]; }
  /// Throws Error(kInvalidArgument): a row's next input may begin at its length, or before it where
  /// every cache still holds what a query there sees and no recurrent state has gone on.
  void check_position(int64_t row, int64_t position) const;
  /// Records that `row` has taken `count` positions from `first`, which check_position() let pass.
  void extend(int64_t row, int64_t first, int64_t count);
  /// Forgets everything; the next input begins at position 0.
  void reset();

  KvCache& cache(size_t i) { return caches_[i]; }
  RecurrentState& recurrent(size_t i) { return recurrent_[i]; }

 private:
  std::vector<KvCache> caches_;
  std::vector<RecurrentState> recurrent_;
  const Program* program_;
  ZeroedMemory memory_;
  std::vector<int64_t> lengths_;
  std::vector<int64_t> farthest_;  // per row: the largest length since it began at position 0
  int64_t rewindable_ = 0;         // positions that a row may step back by from there
};

/// Cache `i` of a session of `batch` rows, but for its memory.
KvCache kv_cache_shape(const Program& program, size_t i, int64_t batch);

/// Bytes of the caches and recurrent states of one session of `batch` rows once they are full.
uint64_t session_state_bytes(const Program& program, int64_t batch);

}  // namespace gumbel
