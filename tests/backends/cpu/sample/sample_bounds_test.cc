// The bounds that let the vectorized sampler rule tokens out unseen.
#include "backends/cpu/sample/sample_bounds.h"

#include <gtest/gtest.h>

#include <bit>
#include <random>

namespace gumbel::cpu {
namespace {

TEST(SampleBounds, NoiseOfAWordIsBelowItsBounds) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 2'000'000; ++i) {
    const uint32_t r =
        static_cast<uint32_t>(random()) >> (random() % 33 == 32 ? 31 : random() % 32);
    // Where the tail counts, the smallest one makes the most noise.
    const uint32_t r2 = i % 2 ? 0 : static_cast<uint32_t>(random());
    const int32_t noise = gumbel_from_words(r, r2);
    ASSERT_LE(noise, noise_bound(r)) << r << " " << r2;
    ASSERT_LE(noise, kNoiseBoundOfByte[r >> 24]) << r << " " << r2;
  }
  for (uint32_t r = 0; r < 1 << 16; ++r) ASSERT_LE(gumbel_from_words(r, 0), noise_bound(r)) << r;
}

TEST(SampleBounds, LargestByteIsTheLargest) {
  for (int64_t needed = int64_t{-200} * kOneQ24; needed <= 70 * int64_t{kOneQ24};
       needed += kOneQ24 / 64) {
    const size_t largest = largest_byte_reaching(needed);
    if (largest > 0) {
      ASSERT_GE(kNoiseBoundOfByte[largest], needed);
    }
    if (largest < 255) {
      ASSERT_LT(kNoiseBoundOfByte[largest + 1], needed);
    }
  }
  for (size_t b = 1; b < 256; ++b) {
    EXPECT_LT(kNoiseBoundOfByte[b], kNoiseBoundOfByte[b - 1]);
    EXPECT_EQ(largest_byte_reaching(kNoiseBoundOfByte[b]), b);
  }
}

TEST(SampleBounds, KeyAboveOrdersBitsAsKeys) {
  std::mt19937_64 random(2);
  std::vector<uint32_t> patterns = {0,          1,          2,          0x80000000, 0x80000001,
                                    0x80000002, 0x7F7FFFFF, 0x7F7FFFFE, 0xFF7FFFFF, 0xFF7FFFFE,
                                    0x7F800000, 0xFF800000, 0x3F800000, 0xBF800000, 0x00800000};
  for (int i = 0; i < 500; ++i) {
    const auto bits = static_cast<uint32_t>(random());
    if (!is_nan(std::bit_cast<float>(bits))) patterns.push_back(bits);
  }
  for (uint32_t a : patterns) {
    for (int32_t step : {-1, 0, 1}) {
      const int32_t key = std::max(rank_key(std::bit_cast<float>(a)) + step, kBannedKey);
      const KeyAbove above(key);
      for (uint32_t b : patterns)
        ASSERT_EQ((static_cast<int32_t>(b) ^ above.flip) > above.below,
                  rank_key(std::bit_cast<float>(b)) > key)
            << a << " " << step << " " << b;
    }
  }
}

TEST(SampleBounds, KeysOrderAsFloats) {
  std::mt19937_64 random(3);
  for (int i = 0; i < 1'000'000; ++i) {
    const float a = std::bit_cast<float>(static_cast<uint32_t>(random()));
    const float b = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (is_nan(a) || is_nan(b)) continue;
    ASSERT_EQ(rank_key(a) < rank_key(b), a < b) << a << " " << b;
    ASSERT_EQ(logit_of_key(rank_key(a)), a);
  }
  EXPECT_EQ(rank_key(-0.0f), rank_key(0.0f));
}

}  // namespace
}  // namespace gumbel::cpu
