// The counter-based random generator Philox4x32-10.
#pragma once

#include <array>
#include <cstdint>

namespace gumbel {

/// Multipliers and key increments of Philox4x32 (Salmon et al., "Parallel random numbers: as easy
/// as 1, 2, 3", SC 2011, table 2 and section 4.1).
inline constexpr uint32_t kPhiloxMultiplier0 = 0xD2511F53;
inline constexpr uint32_t kPhiloxMultiplier1 = 0xCD9E8D57;
inline constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9;
inline constexpr uint32_t kPhiloxWeyl1 = 0xBB67AE85;
inline constexpr int kPhiloxRounds = 10;

/// The four random words at `counter` under `key` (low word = bits 0..31 of a 64-bit seed): a pure
/// function, equal to Random123's philox4x32_R(10, counter, key).
constexpr std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, uint64_t key) {
  uint32_t k0 = static_cast<uint32_t>(key);
  uint32_t k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < kPhiloxRounds; ++round) {
    const uint64_t p0 = uint64_t{kPhiloxMultiplier0} * counter[0];
    const uint64_t p1 = uint64_t{kPhiloxMultiplier1} * counter[2];
    counter = {static_cast<uint32_t>(p1 >> 32) ^ counter[1] ^ k0, static_cast<uint32_t>(p1),
               static_cast<uint32_t>(p0 >> 32) ^ counter[3] ^ k1, static_cast<uint32_t>(p0)};
    k0 += kPhiloxWeyl0;
    k1 += kPhiloxWeyl1;
  }
  return counter;
}

}  // namespace gumbel
