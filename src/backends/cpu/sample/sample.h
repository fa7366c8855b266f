// Drawing tokens: the sampling op of the CPU backend.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "backends/cpu/target.h"
#include "base/thread_pool.h"
#include "sampling/parameters.h"

namespace gumbel::cpu {

/// Working memory of one draw at a time, in memory that the caller sizes ahead: drawing allocates
/// nothing. Holds nothing between draws.
class SampleScratch {
 public:
  /// Bytes needed for rows of up to `vocab` logits, 0 <= vocab < 2^23: about 4 per logit.
  static size_t bytes(int64_t vocab);

  /// Uses `memory`, at least bytes(vocab) long, at any alignment. Throws Error(kInvalidArgument)
  /// where it is shorter, or `vocab` out of range.
  SampleScratch(std::span<std::byte> memory, int64_t vocab);

  int64_t vocab() const { return vocab_; }

  // Per chunk of kChunk tokens, padded to a whole vector:
  int32_t* best_keys;   ///< rank_key of the chunk's best logit
  int32_t* surprisals;  ///< surprisal of that logit
  float* masses;        ///< approximate mass of the chunk
  float* last_chunk;    ///< [kChunk] the row's last chunk, filled up with banned tokens
  float* chunk_masses;  ///< [kChunk] approximate masses within one chunk
  int32_t* keys;        ///< [vocab + kChunk] keys that are candidates for the k-th best

 private:
  int64_t vocab_;
};

/// The token that sampling's draw() draws from `logits`, whatever they and the parameters hold; the
/// same on every `target`. `target` is one of supported_targets(). -1 where draw() gives it.
/// Throws Error(kInvalidArgument) where `scratch` is for fewer than logits.size() tokens.
int64_t sample_row(CpuTarget target, std::span<const float> logits,
                   const SamplingParameters& parameters, SampleScratch& scratch);

/// Bytes of scratch that sample_rows() needs for `rows` rows on a pool of `threads`.
size_t sample_rows_bytes(int64_t rows, int64_t vocab, int threads);

/// Logits of rows that are drawn together.
struct LogitRows {
  const float* first;  ///< [rows, stride], of which each row's first `vocab` are its logits
  int64_t rows;
  int64_t vocab;
  int64_t stride;
};

/// Draws tokens[b] from row b with parameters_of(b). Rows are spread over the pool's threads; each
/// equals its sample_row(). Throws Error(kInvalidArgument) where `memory` is shorter than
/// sample_rows_bytes(rows, vocab, pool.threads()).
void sample_rows(CpuTarget target, const ThreadPool& pool, const LogitRows& logits,
                 const std::function<SamplingParameters(int64_t)>& parameters_of, int64_t* tokens,
                 std::span<std::byte> memory);

}  // namespace gumbel::cpu
