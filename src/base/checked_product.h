// Products of untrusted factors.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>

namespace gumbel {

/// The product of `factors`, or nothing where that of the first few exceeds `limit` already.
constexpr std::optional<uint64_t> checked_product(std::initializer_list<uint64_t> factors,
                                                  uint64_t limit) {
  uint64_t product = 1;
  for (const uint64_t factor : factors) {
    if (factor != 0 && product > limit / factor) return std::nullopt;
    product *= factor;
  }
  return product;
}

}  // namespace gumbel
