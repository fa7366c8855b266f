// Frequencies of drawn tokens against softmax, filters applied by plain arithmetic in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "sampling/sampler.h"

namespace gumbel {
namespace {

// Probabilities that softmax and the filters give; independent of the sampler.
std::vector<double> probabilities(const std::vector<float>& logits, const SamplingParameters& p) {
  const size_t vocab = logits.size();
  std::vector<size_t> order(vocab);
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return logits[a] > logits[b]; });
  std::vector<double> weight(vocab);
  for (size_t i = 0; i < vocab; ++i)
    weight[i] = std::exp((static_cast<double>(logits[i]) - static_cast<double>(logits[order[0]])) /
                         static_cast<double>(p.temperature));
  size_t kept = vocab;
  if (p.top_k > 0) kept = std::min(kept, static_cast<size_t>(p.top_k));
  if (p.top_p < 1) {
    double total = 0, above = 0;
    for (size_t rank = 0; rank < kept; ++rank) total += weight[order[rank]];
    size_t nucleus = 0;
    while (nucleus < kept && above < total * static_cast<double>(p.top_p))
      above += weight[order[nucleus++]];
    kept = nucleus;
  }
  while (kept > 1 && weight[order[kept - 1]] < static_cast<double>(p.min_p)) --kept;
  double total = 0;
  for (size_t rank = 0; rank < kept; ++rank) total += weight[order[rank]];
  std::vector<double> result(vocab, 0);
  for (size_t rank = 0; rank < kept; ++rank) result[order[rank]] = weight[order[rank]] / total;
  return result;
}

// Draws at successive positions, and checks support and chi-square.
void expect_distribution(const std::vector<float>& logits, SamplingParameters p) {
  constexpr int kDraws = 100'000;
  const std::vector<double> expected = probabilities(logits, p);
  std::vector<int> count(logits.size(), 0);
  for (int i = 0; i < kDraws; ++i) {
    p.position = static_cast<uint32_t>(i);
    ++count[static_cast<size_t>(sample(logits, p))];
  }
  double chi_square = 0, cells = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (expected[i] == 0) {
      EXPECT_EQ(count[i], 0) << "token " << i << " was filtered out";
      continue;
    }
    const double wanted = expected[i] * kDraws;
    ASSERT_GT(wanted, 5) << "too few draws for chi-square at token " << i;
    chi_square += (count[i] - wanted) * (count[i] - wanted) / wanted;
    ++cells;
  }
  // Wilson and Hilferty: the 99.99% point (3.72 standard deviations) of chi-square with n degrees.
  const double n = cells - 1;
  const double c = 2 / (9 * n);
  EXPECT_LT(chi_square, n * std::pow(1 - c + 3.72 * std::sqrt(c), 3)) << "of " << n << " degrees";
}

const std::vector<float> kLogits = {1.5f,  0.25f, 3.0f, -1.0f, 2.0f,  2.0f,  0.0f, -0.5f, 1.0f,
                                    -2.0f, 2.75f, 1.5f, 0.5f,  -1.5f, 0.75f, 2.5f, 1.25f};

TEST(Distribution, Unfiltered) { expect_distribution(kLogits, {.seed = 1}); }
TEST(Distribution, Temperature) {
  expect_distribution(kLogits, {.temperature = 0.7f, .seed = 2});
  expect_distribution(kLogits, {.temperature = 5, .seed = 3});
}
TEST(Distribution, TopK) { expect_distribution(kLogits, {.top_k = 5, .seed = 4}); }
TEST(Distribution, TopP) {
  expect_distribution(kLogits, {.top_p = 0.9f, .seed = 5});
  expect_distribution(kLogits, {.top_p = 0.5f, .seed = 6});
}
TEST(Distribution, MinP) { expect_distribution(kLogits, {.min_p = 0.2f, .seed = 7}); }
TEST(Distribution, AllFilters) {
  expect_distribution(kLogits,
                      {.temperature = 1.5f, .top_k = 9, .top_p = 0.9f, .min_p = 0.4f, .seed = 8});
}
TEST(Distribution, SeedsAndStreams) {
  // The other two inputs of the generator give independent draws as well.
  const std::vector<double> expected = probabilities(kLogits, {});
  for (bool by_seed : {true, false}) {
    constexpr int kDraws = 50'000;
    int best = 0;
    for (int i = 0; i < kDraws; ++i) {
      SamplingParameters p;
      if (by_seed)
        p.seed = static_cast<uint64_t>(i);
      else
        p.stream = static_cast<uint32_t>(i);
      best += sample(kLogits, p) == 2;
    }
    const double wanted = expected[2] * kDraws;
    EXPECT_NEAR(best, wanted, 4 * std::sqrt(wanted * (1 - expected[2])));
  }
}
TEST(Distribution, TwoDrawsAreIndependent) {
  // Pairs of successive positions of one seed, on four equal tokens: 16 equal cells.
  const std::vector<float> equal(4, 0.0f);
  std::vector<int> count(16, 0);
  constexpr int kDraws = 80'000;
  int64_t before = sample(equal, {.seed = 9, .position = 0});
  for (uint32_t i = 1; i <= kDraws; ++i) {
    const int64_t token = sample(equal, {.seed = 9, .position = i});
    ++count[static_cast<size_t>(before * 4 + token)];
    before = token;
  }
  double chi_square = 0;
  for (int cell : count) chi_square += (cell - 5000.0) * (cell - 5000.0) / 5000;
  EXPECT_LT(chi_square, 44.3);  // 99.99% point with 15 degrees
}

}  // namespace
}  // namespace gumbel
