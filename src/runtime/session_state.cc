#include "runtime/session_state.h"

#include <algorithm>

#include "base/checked_product.h"
#include "base/error.h"

namespace gumbel {
namespace {

constexpr uint64_t kAlignment = 64;
constexpr uint64_t kMaxPartBytes = uint64_t{1} << 40;

int64_t cache_capacity(const Program& program, const KvCacheSpec& spec) {
  const int64_t max_length = program.constant("get_max_seq_len");
  int64_t capacity = max_length;
  // A chunk of T positions is stored before its first query looks back over a whole window.
  if (spec.window > 0)
    capacity = std::min(capacity, spec.window + program.constant("get_max_prefill_chunk"));
  return (capacity + kKvCacheBlock - 1) / kKvCacheBlock * kKvCacheBlock;
}

// Bytes of the keys (dim = key_dim) or values of one cache.
uint64_t part_bytes(const Program& program, const KvCacheSpec& spec, int64_t dim, int64_t batch) {
  const auto bytes =
      checked_product({static_cast<uint64_t>(cache_capacity(program, spec)),
                       static_cast<uint64_t>(spec.kv_heads), static_cast<uint64_t>(dim),
                       static_cast<uint64_t>(batch), static_cast<uint64_t>(size_of(spec.type))},
                      kMaxPartBytes);
  if (!bytes)
    fail(ErrorCode::kUnsupported, "state {}: expected at most {} bytes", spec.name, kMaxPartBytes);
  return (*bytes + kAlignment - 1) / kAlignment * kAlignment;
}

// Bytes of a recurrent state.
uint64_t recurrent_bytes(const RecurrentStateSpec& spec, int64_t batch) {
  uint64_t bytes = static_cast<uint64_t>(batch) * sizeof(float);
  for (const int64_t dim : spec.shape) {
    const auto product = checked_product({bytes, static_cast<uint64_t>(dim)}, kMaxPartBytes);
    if (!product)
      fail(ErrorCode::kUnsupported, "state {}: expected at most {} bytes", spec.name,
           kMaxPartBytes);
    bytes = *product;
  }
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace

KvCache kv_cache_shape(const Program& program, size_t i, int64_t batch) {
  const KvCacheSpec& spec = program.kv_caches[i];
  KvCache cache;
  cache.type = spec.type;
  cache.batch = batch;
  cache.kv_heads = spec.kv_heads;
  cache.key_dim = spec.key_dim;
  cache.value_dim = spec.value_dim;
  cache.capacity = cache_capacity(program, spec);
  return cache;
}

uint64_t session_state_bytes(const Program& program, int64_t batch) {
  uint64_t bytes = 0;
  for (const KvCacheSpec& spec : program.kv_caches)
    bytes += part_bytes(program, spec, spec.key_dim, batch) +
             part_bytes(program, spec, spec.value_dim, batch);
  for (const RecurrentStateSpec& spec : program.recurrent_states)
    bytes += recurrent_bytes(spec, batch);
  return bytes;
}

SessionState::SessionState(const Program& program, int64_t batch)
    : program_(&program),
      memory_(session_state_bytes(program, batch), "the state of a session"),
      lengths_(static_cast<size_t>(batch)),
      farthest_(static_cast<size_t>(batch)),
      rewindable_(program.constant("get_max_seq_len")) {
  const int64_t max_length = rewindable_;
  std::byte* next = memory_.bytes().data();
  for (size_t i = 0; i < program.kv_caches.size(); ++i) {
    const KvCacheSpec& spec = program.kv_caches[i];
    KvCache cache = kv_cache_shape(program, i, batch);
    cache.keys = next;
    next += part_bytes(program, spec, spec.key_dim, batch);
    cache.values = next;
    next += part_bytes(program, spec, spec.value_dim, batch);
    caches_.push_back(cache);
    // A query at p sees positions from p - window + 1 on. The slot of that one has been taken by
    // p - window + 1 + capacity once the row has held more positions than this, whether or not it
    // has stepped back since. What the chunk itself writes fits beside the window.
    if (cache.capacity < max_length)
      rewindable_ = std::min(rewindable_, cache.capacity - spec.window);
  }
  for (const RecurrentStateSpec& spec : program.recurrent_states) {
    const auto bytes = recurrent_bytes(spec, batch);
    int64_t elements = 1;
    for (const int64_t dim : spec.shape) elements *= dim;
    recurrent_.push_back({batch, elements, reinterpret_cast<float*>(next)});
    next += bytes;
    rewindable_ = 0;  // what a position changed cannot be taken back
  }
}

SessionState SessionState::branch() const {
  SessionState copy(*program_, batch());
  copy.memory_.copy_written(memory_);
  copy.lengths_ = lengths_;
  copy.farthest_ = farthest_;
  return copy;
}

void SessionState::check_position(int64_t row, int64_t position) const {
  const int64_t held = length(row);
  if (position == held || position == 0) return;
  if (position > held)
    fail(ErrorCode::kInvalidArgument,
         "input_pos: row {} holds {} positions, expected the next, got {}", row, held, position);
  if (const int64_t farthest = farthest_[static_cast<size_t>(row)];
      farthest - position > rewindable_)
    fail(ErrorCode::kInvalidArgument,
         "input_pos: row {} has held {} positions and can step back to {} or to 0, got {}", row,
         farthest, farthest - rewindable_, position);
}

void SessionState::extend(int64_t row, int64_t first, int64_t count) {
  const auto i = static_cast<size_t>(row);
  lengths_[i] = first + count;
  farthest_[i] = first == 0 ? count : std::max(farthest_[i], first + count);
}

void SessionState::reset() {
  std::fill(lengths_.begin(), lengths_.end(), 0);
  std::fill(farthest_.begin(), farthest_.end(), 0);
}

}  // namespace gumbel
