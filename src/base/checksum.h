// The checksum of the project: 64 bits of xxh3.
#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace gumbel {

/// The checksum of bytes that come in pieces.
class Checksum {
 public:
  Checksum() : state_(XXH3_createState()) {
    if (!state_) throw std::bad_alloc();
    reset();
  }

  void add(std::span<const std::byte> bytes) {
    XXH3_64bits_update(state_.get(), bytes.data(), bytes.size());
  }
  uint64_t value() const { return XXH3_64bits_digest(state_.get()); }
  void reset() { XXH3_64bits_reset(state_.get()); }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  std::unique_ptr<XXH3_state_t, Free> state_;
};

inline uint64_t checksum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

}  // namespace gumbel
