#include "base/checked_product.h"

#include <gtest/gtest.h>

namespace gumbel {
namespace {

TEST(CheckedProduct, MultipliesUpToItsLimit) {
  static_assert(checked_product({}, 1) == 1u);
  EXPECT_EQ(checked_product({3, 5, 7}, 105), 105u);
  EXPECT_EQ(checked_product({3, 5, 7}, 104), std::nullopt);
  EXPECT_EQ(checked_product({106}, 105), std::nullopt);
  EXPECT_EQ(checked_product({0, UINT64_MAX, UINT64_MAX}, 10), 0u);
}

TEST(CheckedProduct, DoesNotWrapAround) {
  EXPECT_EQ(checked_product({uint64_t{1} << 32, uint64_t{1} << 32}, UINT64_MAX), std::nullopt);
  EXPECT_EQ(checked_product({uint64_t{1} << 32, (uint64_t{1} << 32) - 1}, UINT64_MAX),
            0xFFFFFFFF00000000u);
  EXPECT_EQ(checked_product({UINT64_MAX, 1}, UINT64_MAX), UINT64_MAX);
  EXPECT_EQ(checked_product({UINT64_MAX, 2}, UINT64_MAX), std::nullopt);
}

}  // namespace
}  // namespace gumbel
