// Philox against Random123, the authors' own implementation.
#include <Random123/philox.h>
#include <gtest/gtest.h>

#include <array>
#include <random>

// Random123's C interface has a macro of our function's name.
#undef philox4x32
#include "sampling/philox.h"

namespace gumbel {
namespace {

TEST(Philox, EqualsRandom123) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    std::array<uint32_t, 4> counter;
    for (uint32_t& word : counter) word = static_cast<uint32_t>(random());
    uint64_t key = random();
    if (i == 0) counter = {0, 0, 0, 0}, key = 0;
    if (i == 1) counter = {~0u, ~0u, ~0u, ~0u}, key = ~uint64_t{0};
    const r123::Philox4x32::ctr_type theirs =
        r123::Philox4x32()({{counter[0], counter[1], counter[2], counter[3]}},
                           {{static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32)}});
    const std::array<uint32_t, 4> ours = philox4x32(counter, key);
    for (size_t word = 0; word < 4; ++word) ASSERT_EQ(ours[word], theirs[word]) << "case " << i;
  }
}

// Known answers of Random123's kat_vectors, evaluated by the compiler.
static_assert(philox4x32({0, 0, 0, 0}, 0) ==
              std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});

}  // namespace
}  // namespace gumbel
