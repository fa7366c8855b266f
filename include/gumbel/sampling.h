// The parameters of a draw.
#pragma once

#include <cstdint>

namespace gumbel {

/// How the next token is drawn. Filters apply in the order top_k, top_p, min_p to the distribution
/// at `temperature`; one seed gives one token for the same logits and position, on every machine.
/// A value outside its range is refused with Error(kInvalidArgument).
struct Sampling {
  float temperature = 0.8f;  ///< in [0, 2]; 0 takes the best token
  int64_t top_k = 0;         ///< keeps the k best tokens; 0: all
  float top_p =
      1.0f;  ///< in (0, 1]: keeps the fewest best tokens of that share of the mass; 1: all
  float min_p = 0.0f;  ///< in [0, 1): keeps tokens that likely relative to the best one; 0: all
  int64_t seed = 0;    ///< any value; stays the same through a session
};

}  // namespace gumbel
