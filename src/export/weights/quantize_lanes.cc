#include "export/weights/quantize_lanes.h"

#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>

namespace gumbel {
namespace {

// Vectors of the compiler's own, of as many lanes as the instruction set's widest has. Everything
// is inlined into one function for each instruction set. The build forbids contraction
// (-ffp-contract=off), so each operation is the IEEE one on all of them, and lanes do not mix: all
// compute the same bits.
#define GUMBEL_INLINE inline __attribute__((always_inline))
// No vector is handed to a function that is not inlined.
#pragma GCC diagnostic ignored "-Wpsabi"

constexpr int kGroup = kQuantizeGroup;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

template <int kLanes>
struct Vector {
  typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));
  typedef int32_t Ints __attribute__((vector_size(kLanes * sizeof(float))));
};

/// The best scale and minimum so far of one group in each lane, by the sum of squared errors.
template <typename Floats>
struct Best {
  Floats scale, minimum, error;
};

/// Sums over the codes of a candidate, from which a better scale and minimum follow.
template <typename Floats>
struct CodeSums {
  Floats codes, squares, products;  ///< products of codes and weights
};

/// The groups of the lanes of one vector.
template <int kLanes>
class Groups {
 public:
  using Floats = typename Vector<kLanes>::Floats;
  using Ints = typename Vector<kLanes>::Ints;

  GUMBEL_INLINE explicit Groups(const QuantizeBlock& block, int lane) {
    for (int k = 0; k < kGroup; ++k)
      std::memcpy(&weights_[k], &block.weights[k][lane], sizeof(Floats));
    best_.scale = best_.minimum = Floats{};
    best_.error = Floats{} + kInfinity;
  }

  /// Codes [low, high] without a minimum. `divisors` are the codes that the weight of the largest
  /// magnitude is tried at; after each of the first `fitted`, the scale is fitted to the codes
  /// once.
  GUMBEL_INLINE void quantize_symmetric(const float* divisors, int count, int fitted, float low,
                                        float high) {
    Floats largest = {};
    for (int k = 0; k < kGroup; ++k)
      largest = magnitude(weights_[k]) > magnitude(largest) ? weights_[k] : largest;
    CodeSums<Floats> sums;
    for (int i = 0; i < count; ++i) {
      const Floats scale = largest / divisors[i];
      if (i >= fitted) {
        try_candidate<false, false>(scale, Floats{}, low, high, sums);
        continue;
      }
      try_candidate<false, true>(scale, Floats{}, low, high, sums);
      const Floats fit = sums.squares == 0 ? scale : sums.products / sums.squares;
      try_candidate<false, false>(fit, Floats{}, low, high, sums);
    }
  }

  /// Codes [0, 15] above a minimum.
  GUMBEL_INLINE void quantize_with_minimum() {
    // Steps that the range is divided into, and how many of them are cut off at its lower end. The
    // first is the plain choice; above 15 the range is cut short at the top, the bottom or both.
    constexpr float kTries[][2] = {{15, 0},        {15.5f, 0}, {15.5f, 0.25f},
                                   {15.5f, 0.5f},  {16, 0},    {16, 0.5f},
                                   {16.5f, 0.75f}, {17, 1},    {18, 1.5f}};
    Floats lowest = weights_[0], highest = weights_[0], sum = {};
    for (int k = 0; k < kGroup; ++k) {
      lowest = weights_[k] < lowest ? weights_[k] : lowest;
      highest = weights_[k] > highest ? weights_[k] : highest;
      sum += weights_[k];
    }
    CodeSums<Floats> sums;
    for (const auto& [levels, cut] : kTries) {
      const Floats scale = (highest - lowest) / levels;
      const Floats minimum = -(lowest + cut * scale);
      try_candidate<true, true>(scale, minimum, 0, 15, sums);
      // Scale and minimum that, with these codes, leave the least squares; nothing changes where
      // all codes are equal.
      const Floats determinant = kGroup * sums.squares - sums.codes * sums.codes;
      const Floats fit = (kGroup * sums.products - sums.codes * sum) / determinant;
      const Floats fit_minimum = (sums.codes * fit - sum) / float{kGroup};
      try_candidate<true, false>(determinant == 0 ? scale : fit,
                                 determinant == 0 ? minimum : fit_minimum, 0, 15, sums);
    }
    // What q4_0 would do, so that weights made for q4_0 are kept: codes -8..7 or their mirror
    // image.
    const Floats scale = (-lowest < highest ? highest : -lowest) / 8.0f;
    const Floats steps = highest > -lowest ? Floats{} + 7 : Floats{} + 8;
    try_candidate<true, false>(scale, steps * scale, 0, 15, sums);
  }

  /// Writes the best scale and minimum, their error and codes.
  GUMBEL_INLINE void store(float low, float high, QuantizeBlock& block, int lane) const {
    std::memcpy(&block.scale[lane], &best_.scale, sizeof(Floats));
    std::memcpy(&block.minimum[lane], &best_.minimum, sizeof(Floats));
    std::memcpy(&block.error[lane], &best_.error, sizeof(Floats));
    const Floats inverse = inverse_of(best_.scale);
    for (int k = 0; k < kGroup; ++k) {
      const Floats code = nearest_code(weights_[k] + best_.minimum, inverse, low, high);
      std::memcpy(&block.codes[k][lane], &code, sizeof(Floats));
    }
  }

 private:
  static GUMBEL_INLINE Ints bits_of(const Floats& value) { return (Ints)value; }
  static GUMBEL_INLINE Floats magnitude(const Floats& value) {
    return (Floats)(bits_of(value) & 0x7FFFFFFF);
  }

  /// The nearest float16 value, ties to even; infinity from 65520 on.
  static GUMBEL_INLINE Floats round_to_f16(const Floats& value) {
    const Ints bits = bits_of(value) & 0x7FFFFFFF;
    // Normal halves keep 10 of the 23 bits of the mantissa.
    const Ints normal = (bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF;
    // Below 2^-14 = 0x38800000 halves are multiples of 2^-24, the unit in the last place of
    // [0.5, 1).
    const Ints subnormal = bits_of(((Floats)bits + 0.5f) - 0.5f);
    Ints rounded = bits < 0x38800000 ? subnormal : normal;
    rounded = bits >= 0x477FF000 ? Ints{} + 0x7F800000 : rounded;
    return (Floats)(rounded | (bits_of(value) & INT32_MIN));
  }

  static GUMBEL_INLINE Floats inverse_of(const Floats& scale) {
    return scale == 0 ? Floats{} : 1 / scale;
  }

  /// The code nearest to value * inverse, ties to even. Adding 1.5 * 2^23 leaves no bits below the
  /// integer.
  static GUMBEL_INLINE Floats nearest_code(const Floats& value, const Floats& inverse, float low,
                                           float high) {
    Floats code = value * inverse;
    code = code < low ? Floats{} + low : code;
    code = code > high ? Floats{} + high : code;
    return (code + 0x1.8p23f) - 0x1.8p23f;
  }

  /// Tries a scale and a minimum, rounded to float16, with the nearest codes, and takes them where
  /// the error is below the least so far.
  template <bool kHasMinimum, bool kSums>
  GUMBEL_INLINE void try_candidate(const Floats& wanted_scale, const Floats& wanted_minimum,
                                   float low, float high, CodeSums<Floats>& sums) {
    const Floats scale = round_to_f16(wanted_scale);
    const Floats minimum = kHasMinimum ? round_to_f16(wanted_minimum) : Floats{};
    const Floats inverse = inverse_of(scale);
    Floats error = {}, codes = {}, squares = {}, products = {};
    for (int k = 0; k < kGroup; ++k) {
      const Floats weight = weights_[k];
      const Floats code = nearest_code(kHasMinimum ? weight + minimum : weight, inverse, low, high);
      const Floats product = scale * code;
      const Floats difference = weight - (kHasMinimum ? product - minimum : product);
      error += difference * difference;
      if (kSums) {
        if (kHasMinimum) codes += code;
        squares += code * code;
        products += weight * code;
      }
    }
    // An infinite scale or minimum makes the error infinite or not a number, neither of which is
    // below the least.
    const Ints better = error < best_.error;
    best_.error = better ? error : best_.error;
    best_.scale = better ? scale : best_.scale;
    if (kHasMinimum) best_.minimum = better ? minimum : best_.minimum;
    if (kSums) sums = {codes, squares, products};
  }

  Floats weights_[kGroup];
  Best<Floats> best_;
};

// The code that the largest weight is tried at: the plain choices (-8, 7, 127, -128); ranges cut
// short (at 8.5, it is clipped by half a step and all others are finer); and, for groups of few
// distinct values, each smaller code.
constexpr float kFourBitDivisors[] = {-8, 7, -7.5f, 7.5f, -8.5f, 8, -9, -9.5f, 6, 5, 4, 3, 2, 1};
constexpr int kFourBitFitted = 8;
constexpr float kEightBitDivisors[] = {127, -128, -127.5f, -128.5f};
constexpr int kEightBitFitted = 1;

template <int kLanes>
GUMBEL_INLINE void quantize_by(WeightType target, QuantizeBlock& block) {
  for (int lane = 0; lane < kQuantizeLanes; lane += kLanes) {
    Groups<kLanes> groups(block, lane);
    if (target == WeightType::kQ8_0) {
      groups.quantize_symmetric(kEightBitDivisors, std::size(kEightBitDivisors), kEightBitFitted,
                                -128, 127);
      groups.store(-128, 127, block, lane);
    } else if (target == WeightType::kQ4_0) {
      groups.quantize_symmetric(kFourBitDivisors, std::size(kFourBitDivisors), kFourBitFitted, -8,
                                7);
      groups.store(-8, 7, block, lane);
    } else {
      groups.quantize_with_minimum();
      groups.store(0, 15, block, lane);
    }
  }
}

// Four lanes are what every x86-64 and aarch64 has.
void quantize_portable(WeightType target, QuantizeBlock& block) { quantize_by<4>(target, block); }

#if defined(__x86_64__)
__attribute__((target("avx2"))) void quantize_avx2(WeightType target, QuantizeBlock& block) {
  quantize_by<8>(target, block);
}
__attribute__((target("avx512f,avx512dq,avx512vl"))) void quantize_avx512(WeightType target,
                                                                          QuantizeBlock& block) {
  quantize_by<16>(target, block);
}
#endif

}  // namespace

std::vector<int> quantize_vector_lanes() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512vl"))
    return {16, 8, 4};
  if (__builtin_cpu_supports("avx2")) return {8, 4};
#endif
  return {4};
}

void quantize_block(WeightType target, int vector_lanes, QuantizeBlock& block) {
#if defined(__x86_64__)
  if (vector_lanes == 16) return quantize_avx512(target, block);
  if (vector_lanes == 8) return quantize_avx2(target, block);
#endif
  static_cast<void>(vector_lanes);
  quantize_portable(target, block);
}

}  // namespace gumbel
