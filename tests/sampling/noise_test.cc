#include "sampling/noise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "sampling/test_vectors.h"

namespace gumbel {
namespace {

TEST(Noise, EqualsReference) {
  for (const auto& row : sampling_vectors_json().at("tables").at("gumbel"))
    EXPECT_EQ(gumbel_from_words(row[0], row[1]), row[2].get<int32_t>()) << row;
}

TEST(Noise, WordsEqualReference) {
  for (const auto& row : sampling_vectors_json().at("tables").at("words")) {
    const NoiseKey key{std::stoull(row[1].get<std::string>()), row[2], row[3]};
    EXPECT_EQ(uniform_word(row[0], key), row[4].get<uint32_t>()) << row;
  }
}

TEST(Noise, EqualsItsFormula) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1'000'000; ++i) {
    const uint32_t r = static_cast<uint32_t>(random()) >> (random() % 32);
    const uint32_t r2 = static_cast<uint32_t>(random());
    const long double w = r < 256
                              ? std::ldexp(static_cast<long double>(r) * 0x1p32L + r2 + 0.5L, -64)
                              : std::ldexp(static_cast<long double>(r) + 0.5L, -32);
    const long double exact = -std::log2(-std::log1p(-w) / std::log(2.0L)) * kOneQ24;
    ASSERT_LE(std::abs(static_cast<long double>(gumbel_from_words(r, r2)) - exact), 3.0L)
        << r << " " << r2;
  }
}

// The extreme words give finite noise, within the documented range.
TEST(Noise, IsFiniteAtTheExtremes) {
  EXPECT_NEAR(gumbel_from_words(0, 0), 65 * kOneQ24 - kLog2Log2eQ24, 2);
  EXPECT_GT(gumbel_from_words(0xFFFFFFFF, 0), -51 * (kOneQ24 / 10));
  EXPECT_LT(gumbel_from_words(0xFFFFFFFF, 0), -50 * (kOneQ24 / 10));
}

// Pruning relies on this: a larger word never has noise larger by more than one unit.
TEST(Noise, FallsInItsWordUpToOneUnit) {
  int32_t least = gumbel_from_words(0, 0);
  const auto step = [&](uint32_t r, uint32_t r2) {
    const int32_t noise = gumbel_from_words(r, r2);
    ASSERT_LE(noise, least + 1) << r << " " << r2;
    least = std::min(least, noise);
  };
  for (uint32_t r = 0; r < 256; ++r)
    for (uint64_t r2 = 0; r2 < uint64_t{1} << 32; r2 += (uint64_t{1} << 32) / 256)
      step(r, static_cast<uint32_t>(r2));
  // Every word at both ends, some between.
  constexpr uint64_t kEnd = uint64_t{1} << 32;
  for (uint64_t r = 256; r < kEnd; r += 1 + std::min(r >> 15, (kEnd - 1 - r) >> 15))
    step(static_cast<uint32_t>(r), 0);
}

}  // namespace
}  // namespace gumbel
