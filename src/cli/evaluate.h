// Comparing a program's logits with stored answers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/options.h"

namespace gumbel::cli {

/// The figures of a comparison; each list has one entry a text.
struct Evaluation {
  uint64_t logits_hash = 0;  ///< xxh3 of all logits, in order
  // Answers with whole logits (tiny models).
  bool has_logits = false;
  double max_abs_diff = 0;
  bool greedy_equal = true;     ///< every greedy continuation equals the stored one
  std::vector<double> full_kl;  ///< sum of p (log p - log q) over all tokens, mean over positions
  // Answers with the 32 best log-probabilities (real models).
  bool has_top = false;
  std::vector<double> mean_kl;     ///< sum of p (log p - log q) over them, mean over positions
  std::vector<double> agreement;   ///< share of positions with the same best token
  std::vector<double> perplexity;  ///< exp of the mean negative log-likelihood
};

/// Runs forward_all on every text of `answers` in chunks of `chunk` positions (0: the program's
/// maximum; clamped to its bounds), and forward for greedy continuations. Throws Error for a
/// program without forward_all and for answers of neither kind.
Evaluation evaluate(const std::filesystem::path& program, const std::filesystem::path& answers,
                    const DeviceOptions& device, int64_t chunk);

}  // namespace gumbel::cli
