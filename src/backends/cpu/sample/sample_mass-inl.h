// Sums of probability mass over prefixes of the ranking: quickly with a proven bound, or exactly.
#if defined(GUMBEL_SAMPLE_MASS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GUMBEL_SAMPLE_MASS_INL_H
#undef GUMBEL_SAMPLE_MASS_INL_H
#else
#define GUMBEL_SAMPLE_MASS_INL_H
#endif

#include <functional>

#include "backends/cpu/sample/sample_scan-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {

/// What turns the logits of one row into surprisals.
struct SurprisalScale {
  int32_t best_key;
  float scale;
};

/// surprisal_q24 before its fraction is cut, in float: the same two roundings. +infinity counts as
/// the largest float; no lane is NaN.
template <class V>
HWY_INLINE V surprisal_lanes(V logits, const SurprisalScale& s) {
  const FloatTag d;
  const V finite = hn::Min(logits, hn::Set(d, std::numeric_limits<float>::max()));
  const V difference = hn::Sub(hn::Set(d, logit_of_key(s.best_key)), finite);
  const V scaled = hn::Mul(difference, hn::Set(d, s.scale));
  return hn::Min(scaled, hn::Set(d, static_cast<float>(kSurprisalCap)));
}

/// 2^-y of every lane, y = (best - logit) * scale, the surprisal in units of log2, at most 100.
///
/// y = n + f with n the nearest integer: adding 1.5 * 2^23 leaves no fraction bits and n in the low
/// bits. The cubic is minimax for 2^-f on [-1/2, 1/2], relative error 7.5e-5; n is taken off its
/// exponent, which stays normal.
template <class V>
HWY_INLINE V approximate_mass(V logits, V best, V scale) {
  const FloatTag d;
  const IntTag di;
  const V magic = hn::Set(d, 12582912.0f);
  const V y = hn::Min(hn::Mul(hn::Sub(best, logits), scale), hn::Set(d, 100.0f));
  const V shifted = hn::Add(y, magic);
  const V f = hn::Sub(y, hn::Sub(shifted, magic));
  V sum = hn::MulAdd(hn::Set(d, -0.05517167f), f, hn::Set(d, 0.24261112f));
  sum = hn::MulAdd(sum, f, hn::Set(d, -0.69326099f));
  sum = hn::MulAdd(sum, f, hn::Set(d, 0.99992807f));
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(di, shifted));
  return hn::BitCast(d, hn::Sub(hn::BitCast(di, sum), exponent));
}

/// Approximate masses of the tokens with keys above two bounds, in units of the best token's.
struct MassSums {
  double outer = 0;
  double inner = 0;
};

/// approximate_mass_above(), where `outer` keeps every token: kWhole. Banned ones count as 2^-100.
template <bool kWhole>
inline HWY_NOINLINE MassSums sum_approximate_masses(const Row& row, const SurprisalScale& s,
                                                    int32_t outer, int32_t inner,
                                                    float* chunk_masses) {
  const FloatTag d;
  const IntTag di;
  const auto best = hn::Set(d, logit_of_key(s.best_key));
  const auto scale = hn::Set(d, s.scale * 0x1p-24f);
  const KeyAbove above_outer(outer), above_inner(inner);
  const auto outer_flip = hn::Set(di, above_outer.flip);
  const auto outer_below = hn::Set(di, above_outer.below);
  const auto inner_flip = hn::Set(di, above_inner.flip);
  const auto inner_below = hn::Set(di, above_inner.below);
  MassSums sums;
  for (size_t c = 0; c < row.chunks; ++c) {
    float outer_sum = 0;
    if (row.scratch->best_keys[c] > outer) {
      const float* chunk = row.chunk(c);
      auto outer_lanes = hn::Zero(d);
      auto inner_lanes = hn::Zero(d);
      HWY_UNROLL(4)
      for (size_t i = 0; i < kChunk; i += hn::Lanes(d)) {
        const auto logits = hn::LoadU(d, chunk + i);
        const auto bits = hn::BitCast(di, logits);
        const auto mass = approximate_mass(logits, best, scale);
        const auto in_inner = hn::Gt(hn::Xor(bits, inner_flip), inner_below);
        inner_lanes = hn::Add(inner_lanes, hn::IfThenElseZero(hn::RebindMask(d, in_inner), mass));
        if constexpr (kWhole) {
          outer_lanes = hn::Add(outer_lanes, mass);
        } else {
          const auto in_outer = hn::Gt(hn::Xor(bits, outer_flip), outer_below);
          outer_lanes = hn::Add(outer_lanes, hn::IfThenElseZero(hn::RebindMask(d, in_outer), mass));
        }
      }
      outer_sum = hn::GetLane(hn::SumOfLanes(d, outer_lanes));
      sums.outer += static_cast<double>(outer_sum);
      sums.inner += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, inner_lanes)));
    }
    if (chunk_masses != nullptr) chunk_masses[c] = outer_sum;
  }
  return sums;
}

/// Sums the masses of keys above `outer` and above `inner` >= outer. `chunk_masses`, if not null,
/// gets the outer sum of every chunk.
HWY_INLINE MassSums approximate_mass_above(const Row& row, const SurprisalScale& s, int32_t outer,
                                           int32_t inner, float* chunk_masses) {
  return outer == kBannedKey ? sum_approximate_masses<true>(row, s, outer, inner, chunk_masses)
                             : sum_approximate_masses<false>(row, s, outer, inner, chunk_masses);
}

/// The exact mass of the tokens with keys above `key`, 40 fraction bits: mass_q40 of every lane. A
/// vector of 32-bit surprisals is taken as two of 64-bit lanes, even and odd.
inline HWY_NOINLINE uint64_t exact_mass_above(const Row& row, const SurprisalScale& s,
                                              int32_t key) {
  uint64_t total = 0;
#if HWY_TARGET == HWY_SCALAR
  for (size_t c = 0; c < row.chunks; ++c) {
    if (row.scratch->best_keys[c] <= key) continue;
    for (size_t i = 0; i < kChunk; ++i) {
      const int32_t token_key = rank_key(row.chunk(c)[i]);
      if (token_key > key) total += mass_q40(surprisal_q24(s.best_key, token_key, s.scale));
    }
  }
#else
  const FloatTag d;
  const IntTag di;
  const WordTag du;
  const hn::ScalableTag<uint64_t> dw;
  const KeyAbove above(key);
  const auto flip = hn::Set(di, above.flip);
  const auto below = hn::Set(di, above.below);
  // z holds a surprisal in the low half of every lane, zero in the high half.
  const auto mass_of = [&](auto z) {
    const auto f = hn::ShiftLeft<8>(hn::And(z, hn::Set(dw, kOneQ24 - 1)));
    auto r = hn::Set(dw, kExp2Q31.back());
    for (size_t k = kExp2Q31.size() - 1; k-- > 0;) {
      const auto product = hn::MulEven(hn::BitCast(du, r), hn::BitCast(du, f));
      r = hn::Sub(hn::Set(dw, kExp2Q31[k]), hn::ShiftRight<32>(product));
    }
    return hn::Shr(hn::ShiftLeft<9>(r), hn::Min(hn::ShiftRight<24>(z), hn::Set(dw, uint64_t{63})));
  };
  auto sum = hn::Zero(dw);
  for (size_t c = 0; c < row.chunks; ++c) {
    if (row.scratch->best_keys[c] <= key) continue;
    for (size_t i = 0; i < kChunk; i += hn::Lanes(d)) {
      const auto logits = hn::LoadU(d, row.chunk(c) + i);
      const auto kept = hn::Gt(hn::Xor(hn::BitCast(di, logits), flip), below);
      // Where a token is not kept, the surprisal 64 has mass 0.
      const auto z =
          hn::BitCast(dw, hn::IfThenElse(kept, hn::ConvertTo(di, surprisal_lanes(logits, s)),
                                         hn::Set(di, 64 * kOneQ24)));
      const auto even = hn::And(z, hn::Set(dw, uint64_t{0xFFFFFFFF}));
      sum = hn::Add(sum, hn::Add(mass_of(even), mass_of(hn::ShiftRight<32>(z))));
    }
  }
  total = hn::GetLane(hn::SumOfLanes(dw, sum));
#endif
  return total;
}

/// A key such that tokens with keys above it hold about `share` of the mass above `outer`, found
/// from scratch.masses, which holds the chunks' masses above `outer`.
///
/// kPoints tokens are picked at even steps of the cumulative mass, so each in proportion to its
/// mass; the share-quantile of their keys estimates the ranking's. Only a guess: its caller checks.
inline HWY_NOINLINE int32_t guess_key_of_share(const Row& row, const SurprisalScale& s,
                                               int32_t outer, double total, double share) {
  constexpr size_t kPoints = 128;
  constexpr size_t kGroup = 16;
  const FloatTag d;
  const IntTag di;
  const KeyAbove above(outer);
  std::array<int32_t, kPoints> picked;
  size_t points = 0;
  double chunk_begin = 0;
  for (size_t c = 0; c < row.chunks && points < kPoints; ++c) {
    const double step = total / kPoints;
    const auto target = [&] { return (static_cast<double>(points) + 0.5) * step - chunk_begin; };
    const double chunk_mass = row.scratch->masses[c];
    if (target() < chunk_mass) {
      const float* chunk = row.chunk(c);
      float* masses = row.scratch->chunk_masses;
      for (size_t i = 0; i < kChunk; i += hn::Lanes(d)) {
        const auto logits = hn::LoadU(d, chunk + i);
        const auto kept = hn::Gt(hn::Xor(hn::BitCast(di, logits), hn::Set(di, above.flip)),
                                 hn::Set(di, above.below));
        const auto mass = approximate_mass(logits, hn::Set(d, logit_of_key(s.best_key)),
                                           hn::Set(d, s.scale * 0x1p-24f));
        hn::StoreU(hn::IfThenElseZero(hn::RebindMask(d, kept), mass), d, masses + i);
      }
      size_t i = 0;
      double sum = 0;
      for (; points < kPoints && target() < chunk_mass; ++points) {
        // Whole groups first, then tokens; rounding may carry the walk to the end of the chunk.
        const double wanted = target();
        for (; i % kGroup == 0 && i + kGroup < kChunk; i += kGroup) {
          float group = 0;
          for (size_t j = 0; j < kGroup; ++j) group += masses[i + j];
          if (sum + group > wanted) break;
          sum += group;
        }
        for (; i + 1 < kChunk && sum + masses[i] <= wanted; ++i) sum += masses[i];
        picked[points] = std::max(rank_key(chunk[i]), kSmallestKey);
      }
    }
    chunk_begin += chunk_mass;
  }
  if (points == 0) return outer;
  std::sort(picked.begin(), picked.begin() + static_cast<ptrdiff_t>(points), std::greater<>());
  const auto rank = static_cast<size_t>(share * static_cast<double>(points));
  return rank >= points ? outer : std::max(picked[rank] - 1, outer);
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
