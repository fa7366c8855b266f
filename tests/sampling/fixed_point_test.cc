#include "sampling/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "sampling/test_vectors.h"

namespace gumbel {
namespace {

TEST(FixedPoint, LogarithmEqualsReference) {
  for (const auto& row : sampling_vectors_json().at("tables").at("log2"))
    EXPECT_EQ(log2_q24(std::stoull(row[0].get<std::string>())), row[1].get<int32_t>()) << row;
}

TEST(FixedPoint, MassEqualsReference) {
  for (const auto& row : sampling_vectors_json().at("tables").at("mass"))
    EXPECT_EQ(mass_q40(row[0].get<int32_t>()), row[1].get<uint64_t>()) << row;
}

// The documented error, against the math library.
TEST(FixedPoint, LogarithmIsWithinTwoUnits) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 1'000'000; ++i) {
    const uint64_t v = (random() >> (random() % 64)) | 1;
    const long double exact = std::log2(static_cast<long double>(v)) * kOneQ24;
    ASSERT_LE(std::abs(static_cast<long double>(log2_q24(v)) - exact), 2.0L) << v;
  }
}

TEST(FixedPoint, MassIsWithinItsError) {
  for (int64_t z = 0; z <= kSurprisalCap; z += 997) {
    const double exact = std::exp2(40 - static_cast<double>(z) / kOneQ24);
    const double mass = static_cast<double>(mass_q40(static_cast<int32_t>(z)));
    ASSERT_LE(std::abs(mass - exact), exact * 0x1p-23 + 1) << z;
  }
  EXPECT_EQ(mass_q40(0), uint64_t{2147483527} << 9);
  EXPECT_EQ(mass_q40(40 * kOneQ24), 0u);
  EXPECT_EQ(mass_q40(kSurprisalCap), 0u);
}

}  // namespace
}  // namespace gumbel
