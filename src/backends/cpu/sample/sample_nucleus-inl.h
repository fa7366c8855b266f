// top-p by drawing first and verifying after.
//
// The nucleus is a prefix of the ranking. The winner among a larger prefix, if it lies in the
// nucleus, is also the winner among the nucleus: the maximum of a set that lies in a subset is the
// subset's maximum. So the nucleus is never sought. A token is drawn, and is right if the mass
// ranked above it is below the limit; if not, the nucleus ends above it, and the draw is repeated
// among the tokens ranked above. The best token is always right, so this ends.
#if defined(GUMBEL_SAMPLE_NUCLEUS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GUMBEL_SAMPLE_NUCLEUS_INL_H
#undef GUMBEL_SAMPLE_NUCLEUS_INL_H
#else
#define GUMBEL_SAMPLE_NUCLEUS_INL_H
#endif

#include <cmath>

#include "backends/cpu/sample/sample_draw-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {

/// Whether the mass ranked above a token is below top_p's limit. Approximate masses decide unless
/// their error bounds overlap; then exact ones do.
class NucleusCheck {
 public:
  /// `candidates` are the tokens that top_k left, whose mass is the whole of the nucleus's.
  NucleusCheck(const Row& row, const SurprisalScale& s, const Prefix& candidates, float top_p)
      : row_(row),
        s_(s),
        candidates_(candidates),
        top_p_(top_p),
        cut_error_(static_cast<double>(row.vocab + 2) * 0x1p-40) {}

  double total() const { return total_; }

  /// Finds the candidates' mass and scratch.masses, and the mass of the keys above `key`.
  double measure(int32_t key) {
    const MassSums sums =
        approximate_mass_above(row_, s_, candidates_.key, key, row_.scratch->masses);
    total_ = sums.outer + mass_of_ties(candidates_.key, candidates_.ties);
    return sums.inner;
  }

  /// Whether a token is in the nucleus, given the mass of larger keys and how many tokens share its
  /// key and rank above it.
  bool holds(int32_t key, double larger, int64_t ties) {
    const double above = larger + mass_of_ties(key, ties);
    if (surely_below_limit(above)) return true;
    if (surely_reaches_limit(above)) return false;
    if (!exact_limit_known_) {
      const uint64_t total = exact_mass_above(row_, s_, candidates_.key) +
                             exact_mass_of_ties(candidates_.key, candidates_.ties);
      exact_limit_ = top_p_limit(total, top_p_);
      exact_limit_known_ = true;
    }
    return exact_mass_above(row_, s_, key) + exact_mass_of_ties(key, ties) < exact_limit_;
  }

  /// By kMassError, the exact sums of n tokens lie within A (1 +- kMassError) +- n / 2^40, and the
  /// limit is total * top_p, cut by less than 2^-32 of the total and then by less than 2^-40.
  bool surely_below_limit(double above) const {
    return above * (1 + kMassError) + cut_error_ <
           (total_ * (1 - kMassError) - cut_error_) * (top_p_ - 0x1p-32) - cut_error_;
  }
  bool surely_reaches_limit(double above) const {
    return above * (1 - kMassError) - cut_error_ >
           (total_ * (1 + kMassError) + cut_error_) * top_p_ + cut_error_;
  }

 private:
  uint64_t exact_mass_of_ties(int32_t key, int64_t ties) const {
    if (ties == 0) return 0;
    return static_cast<uint64_t>(ties) * mass_q40(surprisal_q24(s_.best_key, key, s_.scale));
  }
  double mass_of_ties(int32_t key, int64_t ties) const {
    return static_cast<double>(exact_mass_of_ties(key, ties)) * 0x1p-40;
  }

  const Row& row_;
  SurprisalScale s_;
  Prefix candidates_;
  double top_p_;
  double cut_error_;
  double total_ = 0;
  bool exact_limit_known_ = false;
  uint64_t exact_limit_ = 0;
};

/// Below this top_p a first draw among all would be wrong too often, and the nucleus is guessed at
/// once.
inline constexpr float kGuessBelow = 0.5f;

/// The winner among the tokens of `kept` (what top_k and min_p leave) that lie in the nucleus of
/// `candidates` (what top_k leaves).
inline HWY_NOINLINE int64_t draw_nucleus(const Row& row, const Prefix& candidates,
                                         const Prefix& kept, const SurprisalScale& s,
                                         const SamplingParameters& parameters) {
  NucleusCheck check(row, s, candidates, parameters.top_p);
  const auto guess_nucleus = [&]() -> Prefix {
    // Two standard deviations of a quantile of 128 points beyond top_p: seldom too short.
    const double p = parameters.top_p;
    const double share = p + 2 * std::sqrt(p * (1 - p) / 128);
    const int32_t key = guess_key_of_share(row, s, candidates.key, check.total(), share);
    return key > candidates.key ? Prefix{.key = key} : Prefix{};
  };
  Prefix prefix = kept;  // holds every token of `kept` that is in the nucleus
  Prefix guess;          // probably does; so far every token
  bool measured = false;
  if (parameters.top_p < kGuessBelow) {
    check.measure(kLargestKey);
    measured = true;
    guess = guess_nucleus();
  }
  for (;;) {
    const Prefix tried = shorter(prefix, guess);
    const bool guessed = tried.key != prefix.key || tried.ties != prefix.ties;
    const Winner winner = draw_among(row, tried, s, noise_key(parameters));
    const int64_t ties = winner.token == 0 ? 0 : count_equal(row, winner.key, winner.token);
    const bool is_best = winner.key == row.best_key && ties == 0;
    if (is_best && !guessed) return winner.token;

    double larger = 0;
    const bool first = !measured;
    if (!measured) {
      larger = check.measure(winner.key);
      measured = true;
    } else {
      const MassSums sums =
          approximate_mass_above(row, s, guessed ? tried.key : winner.key, winner.key, nullptr);
      larger = sums.inner;
      if (guessed && !check.surely_reaches_limit(sums.outer)) {
        guess = {};  // it may leave out a part of the nucleus
        continue;
      }
    }
    if (is_best || check.holds(winner.key, larger, ties)) return winner.token;
    prefix = {.key = winner.key, .ties = ties, .last_tie = winner.token - 1};
    if (first) guess = guess_nucleus();
  }
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
