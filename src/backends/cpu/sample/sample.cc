#include "backends/cpu/sample/sample.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "backends/cpu/highway.h"
#include "base/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/sample/sample.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backends/cpu/dispatch.h"
#include "backends/cpu/sample/sample_nucleus-inl.h"
#include "backends/cpu/sample/sample_top_k-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {

/// The prefix of the tokens whose surprisal is at most min_p's, by bisection over keys: the
/// surprisal does not fall as the key does.
Prefix select_min_p(const SurprisalScale& s, float min_p) {
  const int32_t most = min_p_surprisal(min_p);
  int64_t kept = s.best_key;
  int64_t dropped = kBannedKey;
  while (kept - dropped > 1) {
    const int64_t middle = dropped + (kept - dropped) / 2;
    if (surprisal_q24(s.best_key, static_cast<int32_t>(middle), s.scale) <= most)
      kept = middle;
    else
      dropped = middle;
  }
  return {.key = static_cast<int32_t>(dropped)};
}

/// sample_row() with the vectors of one instruction set. The row holds at least one logit.
int64_t draw_row(std::span<const float> logits, const SamplingParameters& parameters,
                 SampleScratch& scratch) {
  if (!is_valid(parameters)) return -1;
  const Row row = scan(logits, scratch);
  if (row.has_nan || row.best_key == kBannedKey) return -1;
  if (is_greedy(parameters)) return best_token(row);

  const SurprisalScale s{row.best_key, surprisal_scale(parameters.temperature)};
  find_chunk_surprisals(row, s);
  const Prefix candidates = parameters.top_k > 0 ? select_top_k(row, parameters.top_k) : Prefix{};
  const Prefix kept =
      has_min_p(parameters) ? shorter(candidates, select_min_p(s, parameters.min_p)) : candidates;
  if (parameters.top_p < 1) return draw_nucleus(row, candidates, kept, s, parameters);
  return draw_among(row, kept, s, noise_key(parameters)).token;
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace gumbel::cpu {
namespace {

constexpr size_t kAlignment = 64;
constexpr int64_t kVocabEnd = int64_t{1} << 23;

constexpr size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

size_t chunks_of(int64_t vocab) { return (static_cast<size_t>(vocab) + kChunk - 1) / kChunk; }

// Bytes of one array with an entry per chunk. Whole cache lines, so whole vectors too.
size_t per_chunk_bytes(int64_t vocab) { return aligned(chunks_of(vocab) * sizeof(int32_t)); }

size_t keys_bytes(int64_t vocab) {
  return aligned((static_cast<size_t>(vocab) + kChunk) * sizeof(int32_t));
}

}  // namespace

size_t SampleScratch::bytes(int64_t vocab) {
  return kAlignment + 3 * per_chunk_bytes(vocab) + 2 * kChunk * sizeof(float) + keys_bytes(vocab);
}

SampleScratch::SampleScratch(std::span<std::byte> memory, int64_t vocab) : vocab_(vocab) {
  if (vocab < 0 || vocab >= kVocabEnd)
    fail(ErrorCode::kInvalidArgument, "sampling: expected a vocabulary of 0 to {}, got {}",
         kVocabEnd - 1, vocab);
  if (memory.size() < bytes(vocab))
    fail(ErrorCode::kInvalidArgument,
         "sampling: expected {} bytes of scratch for {} tokens, got {}", bytes(vocab), vocab,
         memory.size());
  const auto begin = reinterpret_cast<uintptr_t>(memory.data());
  std::byte* next = memory.data() + (aligned(begin) - begin);
  const auto take = [&](size_t bytes) { return std::exchange(next, next + bytes); };
  best_keys = reinterpret_cast<int32_t*>(take(per_chunk_bytes(vocab)));
  surprisals = reinterpret_cast<int32_t*>(take(per_chunk_bytes(vocab)));
  masses = reinterpret_cast<float*>(take(per_chunk_bytes(vocab)));
  last_chunk = reinterpret_cast<float*>(take(kChunk * sizeof(float)));
  chunk_masses = reinterpret_cast<float*>(take(kChunk * sizeof(float)));
  keys = reinterpret_cast<int32_t*>(take(keys_bytes(vocab)));
}

int64_t sample_row(CpuTarget target, std::span<const float> logits,
                   const SamplingParameters& parameters, SampleScratch& scratch) {
  if (static_cast<int64_t>(logits.size()) > scratch.vocab())
    fail(ErrorCode::kInvalidArgument, "sampling: scratch is for {} tokens, got {}", scratch.vocab(),
         logits.size());
  if (logits.empty()) return -1;
  static constexpr auto kDrawRow = GUMBEL_TARGET_TABLE(draw_row);
  const auto draw_row_on_target = kDrawRow[target];
  if (draw_row_on_target == nullptr)
    fail(ErrorCode::kUnsupported, "sampling: not compiled for {}", name(target));
  return draw_row_on_target(logits, parameters, scratch);
}

size_t sample_rows_bytes(int64_t rows, int64_t vocab, int threads) {
  return static_cast<size_t>(std::min<int64_t>(rows, threads)) * SampleScratch::bytes(vocab);
}

void sample_rows(CpuTarget target, const ThreadPool& pool, const LogitRows& logits,
                 const std::function<SamplingParameters(int64_t)>& parameters_of, int64_t* tokens,
                 std::span<std::byte> memory) {
  const size_t needed = sample_rows_bytes(logits.rows, logits.vocab, pool.threads());
  if (memory.size() < needed)
    fail(ErrorCode::kInvalidArgument, "sampling: expected {} bytes of scratch, got {}", needed,
         memory.size());
  // Every worker has scratch of its own and takes the next row that is left.
  const int64_t workers = std::min<int64_t>(logits.rows, pool.threads());
  const size_t bytes = SampleScratch::bytes(logits.vocab);
  std::atomic<int64_t> next{0};
  pool.parallel_for(static_cast<size_t>(workers), [&](size_t worker) {
    SampleScratch scratch(memory.subspan(worker * bytes, bytes), logits.vocab);
    for (int64_t row; (row = next.fetch_add(1, std::memory_order_relaxed)) < logits.rows;) {
      const std::span<const float> row_logits(logits.first + row * logits.stride,
                                              static_cast<size_t>(logits.vocab));
      tokens[row] = sample_row(target, row_logits, parameters_of(row), scratch);
    }
  });
}

}  // namespace gumbel::cpu
#endif  // HWY_ONCE
