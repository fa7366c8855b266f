// The plain sampler: the specification of sampling as code. Backends must draw the same tokens.
#pragma once

#include <cstdint>
#include <span>

#include "sampling/parameters.h"

namespace gumbel {

/// A drawn token and what led to it.
struct Draw {
  /// The token, or -1 where the row or the parameters are invalid (see sample()).
  int64_t token = -1;
  /// Whether noise decided; false for a greedy or invalid draw, whose fields below are 0.
  bool random = false;
  /// Noise minus surprisal of the drawn token, 24 fraction bits.
  int32_t score = 0;
  /// How many tokens passed the filters.
  int64_t kept = 0;
  /// Whether top_p was on; if not, `total` and `limit` are 0.
  bool has_mass = false;
  /// Mass of the tokens that top_k kept, 40 fraction bits relative to the best token.
  uint64_t total = 0;
  /// Tokens are kept while the mass ranked above them is below this.
  uint64_t limit = 0;
};

/// Draws one token from one row of logits, one per token id; fewer than 2^23 of them.
///
/// A logit of -infinity bans its token; +infinity counts as the largest float, and -0 as +0.
/// The token is -1 where a logit, the temperature, top_p or min_p is NaN, and where every
/// token is banned (an empty row too). Tokens rank by logit, ties by lower id; filters keep a
/// prefix of that ranking: top_k, then top_p over the mass of what top_k left, then min_p.
Draw draw(std::span<const float> logits, const SamplingParameters& parameters);

/// draw()'s token.
int64_t sample(std::span<const float> logits, const SamplingParameters& parameters);

}  // namespace gumbel
