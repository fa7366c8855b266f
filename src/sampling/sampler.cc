#include "sampling/sampler.h"

#include <algorithm>
#include <cstddef>
#include <vector>

namespace gumbel {
namespace {

struct RankedToken {
  int32_t key;  // rank_key of its logit
  uint32_t token;
};

// The tokens that are not banned, best first.
std::vector<RankedToken> rank(std::span<const float> logits) {
  std::vector<RankedToken> ranking;
  ranking.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); ++i) {
    const int32_t key = rank_key(logits[i]);
    if (key != kBannedKey) ranking.push_back({key, static_cast<uint32_t>(i)});
  }
  std::sort(ranking.begin(), ranking.end(), [](const RankedToken& a, const RankedToken& b) {
    return a.key != b.key ? a.key > b.key : a.token < b.token;
  });
  return ranking;
}

// Keeps the tokens that have less than the limit's mass ranked above them, and always the best.
void apply_top_p(std::vector<RankedToken>& ranking, float top_p, float scale, Draw& result) {
  const int32_t best_key = ranking.front().key;
  std::vector<uint64_t> mass;
  mass.reserve(ranking.size());
  for (const RankedToken& ranked : ranking) {
    mass.push_back(mass_q40(surprisal_q24(best_key, ranked.key, scale)));
    result.total += mass.back();
  }
  result.has_mass = true;
  result.limit = top_p_limit(result.total, top_p);
  size_t kept = 1;
  for (uint64_t above = mass[0]; kept < ranking.size() && above < result.limit; ++kept)
    above += mass[kept];
  ranking.resize(kept);
}

}  // namespace

Draw draw(std::span<const float> logits, const SamplingParameters& parameters) {
  Draw result;
  if (!is_valid(parameters) || std::any_of(logits.begin(), logits.end(), is_nan)) return result;
  std::vector<RankedToken> kept = rank(logits);
  if (kept.empty()) return result;
  result.token = kept.front().token;
  if (is_greedy(parameters)) return result;

  const int32_t best_key = kept.front().key;
  const float scale = surprisal_scale(parameters.temperature);
  if (parameters.top_k > 0 && parameters.top_k < static_cast<int64_t>(kept.size()))
    kept.resize(static_cast<size_t>(parameters.top_k));
  if (parameters.top_p < 1) apply_top_p(kept, parameters.top_p, scale, result);
  if (has_min_p(parameters)) {
    const int32_t most = min_p_surprisal(parameters.min_p);
    std::erase_if(kept, [&](const RankedToken& ranked) {
      return surprisal_q24(best_key, ranked.key, scale) > most;
    });
  }

  result.random = true;
  result.kept = static_cast<int64_t>(kept.size());
  result.token = -1;
  const NoiseKey key = noise_key(parameters);
  for (const RankedToken& ranked : kept) {
    const int32_t score =
        gumbel_q24(ranked.token, key) - surprisal_q24(best_key, ranked.key, scale);
    // Of equal scores, the lower id wins.
    if (result.token < 0 || score > result.score ||
        (score == result.score && ranked.token < result.token)) {
      result.token = ranked.token;
      result.score = score;
    }
  }
  return result;
}

int64_t sample(std::span<const float> logits, const SamplingParameters& parameters) {
  return draw(logits, parameters).token;
}

}  // namespace gumbel
