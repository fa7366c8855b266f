// Faults that users of other systems reported, and parameters at and past their bounds.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <vector>

#include "backends/cpu/sample/sample_test_targets.h"
#include "sampling/noise.h"
#include "sampling/sampler.h"

namespace gumbel::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();
constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
constexpr int64_t kSmallest = std::numeric_limits<int64_t>::min();

class SampleCasesTest : public SampleTargetTest {
 protected:
  /// The tokens drawn at `draws` successive positions, each equal to the plain sampler's.
  std::vector<int64_t> drawn(const std::vector<float>& logits, SamplingParameters p, int draws) {
    std::vector<int64_t> tokens;
    for (int i = 0; i < draws; ++i) {
      p.position = static_cast<uint32_t>(i);
      tokens.push_back(sampled(logits, p));
      if (logits.size() < 5000) {
        EXPECT_EQ(tokens.back(), sample(logits, p));
      }
    }
    return tokens;
  }
  std::set<int64_t> support(const std::vector<float>& logits, const SamplingParameters& p,
                            int draws) {
    const std::vector<int64_t> tokens = drawn(logits, p, draws);
    return {tokens.begin(), tokens.end()};
  }
};
INSTANTIATE_TEST_SUITE_P(Targets, SampleCasesTest, testing::ValuesIn(supported_targets()),
                         target_name);

// mlx-lm 388
TEST_P(SampleCasesTest, TopPIsOverTheMassThatTopKLeft) {
  EXPECT_EQ(support({1, 0.9f, 0.8f}, {.top_k = 1, .top_p = 0.8f}, 500), std::set<int64_t>{0});
  // Of two equal tokens that top_k keeps of many, the first holds half of their mass.
  EXPECT_EQ(support(std::vector<float>(50, 1), {.top_k = 2, .top_p = 0.4f}, 500),
            std::set<int64_t>{0});
}

// flashinfer 3774
TEST_P(SampleCasesTest, TiesDoNotExceedK) {
  const std::vector<float> logits = {std::log(0.4f), std::log(0.3f), std::log(0.3f), -kInfinity};
  EXPECT_EQ(support(logits, {.top_k = 2}, 500), (std::set<int64_t>{0, 1}));
  for (size_t vocab : {50, 600, 5000}) {
    for (int64_t k : {1, 2, 7, 40}) {
      std::set<int64_t> first;
      for (int64_t i = 0; i < k; ++i) first.insert(i);
      EXPECT_EQ(support(std::vector<float>(vocab, 0.5f), {.top_k = k}, 1000), first) << vocab;
      // Nothing ranks above the ties that top_k keeps, and the nucleus ends among them.
      EXPECT_EQ(support(std::vector<float>(vocab, 0.5f), {.top_k = k, .top_p = 1e-6f}, 50),
                std::set<int64_t>{0});
    }
  }
}

// flashinfer 384, executorch 20561
TEST_P(SampleCasesTest, HugeTopKGivesValidTokens) {
  for (float rest : {-kInfinity, -100.0f}) {
    std::vector<float> logits(32000, rest);
    logits[12345] = 1;
    for (int64_t k : {int64_t{1} << 30, int64_t{0}, kLargest, kSmallest, int64_t{32000}})
      EXPECT_EQ(support(logits, {.top_k = k}, 50), std::set<int64_t>{12345}) << k;
  }
}

// vllm 3063
TEST_P(SampleCasesTest, TinyTemperatureIsTheBestToken) {
  for (float temperature : {1e-5f, 1e-12f, 1e-30f, 1e-45f, 0.0f, -0.0f, -1.0f, -kInfinity})
    EXPECT_EQ(support({2, 11, 3}, {.temperature = temperature}, 200), std::set<int64_t>{1})
        << temperature;
}

// vllm-metal 646
TEST_P(SampleCasesTest, RowsWithAFilterOnAndOff) {
  std::vector<float> logits(256);
  std::iota(logits.begin(), logits.end(), 0.0f);
  const ThreadPool pool(1);
  std::vector<std::byte> memory(sample_rows_bytes(2, 128, 1));
  for (uint32_t position = 0; position < 200; ++position) {
    const std::vector<SamplingParameters> parameters = {
        {.temperature = 0, .position = position},
        {.top_k = 64, .top_p = 0.95f, .position = position}};
    std::vector<int64_t> tokens(2, -7);
    sample_all(GetParam(), pool, logits, parameters, tokens, memory);
    EXPECT_EQ(tokens[0], 127);
    EXPECT_GE(tokens[1], 64);
    EXPECT_LE(tokens[1], 127);
  }
}

// flashinfer 2402, llama.cpp 26651
TEST_P(SampleCasesTest, NanAndBannedRowsAreInvalidAlone) {
  const std::vector<float> logits = {kNan, kNan, -kInfinity, -kInfinity, 0, 5};
  const std::vector<SamplingParameters> greedy(3, {.temperature = 0});
  const std::vector<SamplingParameters> random(3, {.temperature = 0.1f});
  const ThreadPool pool(1);
  std::vector<std::byte> memory(sample_rows_bytes(3, 2, 1));
  for (const auto& parameters : {greedy, random}) {
    std::vector<int64_t> tokens(3, -7);
    sample_all(GetParam(), pool, logits, parameters, tokens, memory);
    EXPECT_EQ(tokens, (std::vector<int64_t>{-1, -1, 1}));
  }
}

// A NaN is found wherever it lies, with either sign, whatever stands beside it.
TEST_P(SampleCasesTest, NanIsFoundAnywhere) {
  for (size_t vocab : {1, 3, 17, 256, 257, 1000}) {
    for (size_t i = 0; i < vocab; i += 1 + vocab / 23) {
      for (float nan : {kNan, -kNan}) {
        for (float rest : {-1.0f, 1.0f, -kInfinity, kInfinity}) {
          std::vector<float> logits(vocab, rest);
          logits[i] = nan;
          ASSERT_EQ(sampled(logits, {}), -1) << i << " of " << vocab;
          ASSERT_EQ(sampled(logits, {.temperature = 0}), -1) << i << " of " << vocab;
        }
      }
    }
  }
}

// sglang 25106
TEST_P(SampleCasesTest, ABannedTokenIsNeverDrawn) {
  for (uint32_t word : {0u, 0xFFFFFFFFu}) {
    EXPECT_LT(std::abs(gumbel_from_words(word, 0)), 65 * kOneQ24);
    EXPECT_LT(std::abs(gumbel_from_words(word, 0xFFFFFFFF)), 65 * kOneQ24);
  }
  EXPECT_EQ(support({-kInfinity, -kMax, -kInfinity}, {}, 1000), std::set<int64_t>{1});
}

// executorch 20454
TEST_P(SampleCasesTest, APeakIsAlwaysDrawn) {
  std::vector<float> logits(262144, 0);
  logits[200001] = 50;
  const int seeds = GetParam() == supported_targets().front() ? 10000 : 200;
  for (int seed = 0; seed < seeds; ++seed)
    ASSERT_EQ(sampled(logits, {.seed = static_cast<uint64_t>(seed)}), 200001) << seed;
}

// onnxruntime-genai 1729
TEST_P(SampleCasesTest, SeedsAreAllOf64Bits) {
  const std::vector<float> equal(100, 0);
  const auto stream = [&](uint64_t seed) { return drawn(equal, {.seed = seed}, 50); };
  EXPECT_NE(stream(1), stream(1 + (uint64_t{1} << 32)));
  EXPECT_NE(stream(uint64_t{1} << 31), stream(0));
  EXPECT_NE(stream(uint64_t{1} << 31), stream(static_cast<uint64_t>(int64_t{-1} << 31)));
  EXPECT_EQ(stream(static_cast<uint64_t>(int64_t{-1})), stream(~uint64_t{0}));
  EXPECT_NE(stream(static_cast<uint64_t>(int64_t{-1})), stream(0xFFFFFFFF));
}

TEST_P(SampleCasesTest, TheFirstOfEqualMaximaIsBest) {
  std::vector<float> logits(512, 0);
  logits[5] = logits[256] = 3;
  EXPECT_EQ(sampled(logits, {.temperature = 0}), 5);
  logits[5] = logits[256] = kInfinity;
  logits[2] = kMax;  // counts as infinity does
  EXPECT_EQ(sampled(logits, {.temperature = 0}), 2);
  const std::vector<float> zeros = {-0.0f, 0.0f, -0.0f};
  EXPECT_EQ(sampled(zeros, {.temperature = 0}), 0);
}

// 262,144 tokens 16.6 below one: together e^-16.6 * 262,144 = 0.0162 of its mass.
TEST_P(SampleCasesTest, ALongTailIsDrawnAtItsRate) {
  const auto tail_draws = [&](float depth, int draws) {
    std::vector<float> logits(262145, -depth);
    logits[77777] = 0;
    int tail = 0;
    for (int i = 0; i < draws; ++i)
      tail += sampled(logits, {.seed = 11, .position = static_cast<uint32_t>(i)}) != 77777;
    return tail;
  };
  const auto expected = [](double depth, int draws) {
    const double mass = 262144 * std::exp(-depth);
    return draws * mass / (1 + mass);
  };
  for (float depth : {16.6f, 19.4f, 12.0f}) {
    const int draws = GetParam() == supported_targets().front() ? 6000 : 300;
    const double mean = expected(static_cast<double>(depth), draws);
    EXPECT_NEAR(tail_draws(depth, draws), mean, 4 * std::sqrt(mean * (1 - mean / draws)) + 1)
        << depth;
  }
  EXPECT_LT(expected(30, 500), 1e-4);
  EXPECT_EQ(tail_draws(30, 500), 0);
}

// Every combination of parameters at and past their bounds, on rows of several kinds.
TEST_P(SampleCasesTest, ParametersAtAndPastTheirBounds) {
  std::vector<float> spread(300), equal(300, 1), narrow = {1, 0.9f, 0.8f};
  for (size_t i = 0; i < spread.size(); ++i) spread[i] = static_cast<float>(i * 37 % 300) / 20;
  const float temperatures[] = {1,     0x1p-64f, 0x1p-65f,  1e-12f, 1e-45f, 0,
                                -1.0f, kMax,     kInfinity, -kMax,  kNan,   3};
  const float shares[] = {0,    -1,          1,         1.5f,       1e-45f, 1e-12f,
                          0.5f, 0.99999994f, kInfinity, -kInfinity, kNan};
  for (const auto& logits : {spread, equal, narrow})
    for (float temperature : temperatures)
      for (int64_t top_k : {int64_t{0}, int64_t{-1}, kSmallest, kLargest, int64_t{1}, int64_t{2},
                            int64_t{299}, int64_t{300}, int64_t{301}})
        for (float top_p : shares)
          for (float min_p : shares) {
            const SamplingParameters p{.temperature = temperature,
                                       .top_k = top_k,
                                       .top_p = top_p,
                                       .min_p = min_p,
                                       .seed = 3,
                                       .position = 0xFFFFFFFF,
                                       .stream = 0xFFFFFFFF};
            ASSERT_EQ(sampled(logits, p), sample(logits, p))
                << temperature << " " << top_k << " " << top_p << " " << min_p;
          }
}

}  // namespace
}  // namespace gumbel::cpu
