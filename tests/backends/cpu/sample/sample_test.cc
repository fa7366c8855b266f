// The vectorized sampler draws the plain sampler's token, on every instruction set.
#include "backends/cpu/sample/sample.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "backends/cpu/sample/sample_test_targets.h"
#include "base/error.h"
#include "sampling/sampler.h"
#include "sampling/test_vectors.h"

namespace gumbel::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kMax = std::numeric_limits<float>::max();

class SampleTest : public SampleTargetTest {};
INSTANTIATE_TEST_SUITE_P(Targets, SampleTest, testing::ValuesIn(supported_targets()), target_name);

TEST_P(SampleTest, EqualsReference) {
  ASSERT_EQ(sampling_vector_count(), 2740u);
  for (size_t i = 0; i < sampling_vector_count(); ++i) {
    const SamplingVector vector = sampling_vector(i);
    ASSERT_EQ(sampled(vector.logits, vector.parameters), vector.expected.token) << vector.name;
  }
}

// Random rows and settings of every kind that could be told apart.
class RandomCases {
 public:
  explicit RandomCases(uint64_t seed) : random_(seed) {}

  std::vector<float> logits(size_t vocab) {
    std::vector<float> x(vocab);
    const float scale = pick({0.01f, 0.3f, 1.0f, 3.0f, 8.0f, 30.0f});
    const uint64_t kind = random_() % 11;
    for (size_t i = 0; i < vocab; ++i) {
      switch (kind) {
        case 0:  // all equal
          x[i] = scale;
          break;
        case 1:  // many ties
          x[i] = scale * static_cast<float>(random_() % 4);
          break;
        case 2:  // any bits but a NaN's
          x[i] = std::bit_cast<float>(static_cast<uint32_t>(random_()));
          if (std::isnan(x[i])) x[i] = 1;
          break;
        case 3:  // values where comparisons go wrong
          x[i] = pick({-kInfinity, kInfinity, kMax, -kMax, 0.0f, -0.0f, 1e-45f, -1e-45f, 1e-38f,
                       -1e-38f, 1.0f, -1.0f});
          break;
        case 4:  // around zero
          x[i] = pick({-kInfinity, 0.0f, -0.0f, 1e-45f, -1e-45f, 3e-45f, -1e-40f});
          break;
        case 5:  // most tokens banned
          x[i] = random_() % 16 ? -kInfinity : scale * normal();
          break;
        case 6:  // sorted
          x[i] = scale * static_cast<float>(i) / static_cast<float>(vocab);
          break;
        case 7:  // a heavy head
          x[i] = -scale * std::log(static_cast<float>(random_() % 4096 + 1));
          break;
        case 8:  // two levels
          x[i] = i % 97 == 5 ? scale : 0;
          break;
        case 9:  // ties among distinct values
          x[i] = std::round(8 * scale * normal()) / 8;
          break;
        default:
          x[i] = scale * normal();
      }
    }
    if (random_() % 64 == 0) x[random_() % vocab] = kNan;
    if (random_() % 64 == 0) x[random_() % vocab] = kInfinity;
    return x;
  }

  SamplingParameters parameters(size_t vocab) {
    const auto size = static_cast<int64_t>(vocab);
    SamplingParameters p;
    p.temperature = pick(
        {1.0f, 0.8f, 2.0f, 0.3f, 1.5f, 1e-5f, 1e-12f, 30.0f, 1e30f, kInfinity, kMax, 0x1p-64f});
    if (random_() % 64 == 0) p.temperature = pick({0.0f, -1.0f, kNan, 1e-45f, 0x1p-65f});
    if (random_() % 3 == 0)
      p.top_k = pick<int64_t>({2, 3, 7, 40, 64, size / 2, size - 1, size, size + 1,
                               static_cast<int64_t>(random_() % (vocab + 1)),
                               std::numeric_limits<int64_t>::max(),
                               std::numeric_limits<int64_t>::min(), -1, 1});
    if (random_() % 2 == 0)
      p.top_p = pick({0.95f, 0.9f, 0.5f, 0.25f, 0.3f, 0.75f, 0.05f, 0.999f, 0.99999994f, 1e-6f,
                      1e-12f, 1e-45f, 0.625f, uniform(), uniform()});
    if (random_() % 4 == 0)
      p.min_p = pick({0.05f, 0.5f, 0.2f, 0.999999f, 1e-3f, 1e-12f, 1e-45f, uniform()});
    if (random_() % 64 == 0) p.top_p = pick({0.0f, -1.0f, kNan, kInfinity, 1.5f});
    if (random_() % 64 == 0) p.min_p = pick({-1.0f, kNan, kInfinity, 1.0f});
    p.seed = pick<uint64_t>({0, 1, ~uint64_t{0}, random_()});
    p.position = static_cast<uint32_t>(random_() >> (random_() % 32));
    p.stream = static_cast<uint32_t>(random_() % 3 ? 0 : random_());
    return p;
  }

  uint64_t operator()() { return random_(); }

 private:
  template <typename T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  float uniform() { return static_cast<float>(random_() >> 40) * 0x1p-24f; }
  float normal() {
    return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.2831853f * uniform());
  }

  std::mt19937_64 random_;
};

void expect_random_rows(RandomCases& random, int rows, size_t least, size_t most, int settings,
                        const auto& sampled) {
  const std::vector<CpuTarget> targets = supported_targets();
  for (int i = 0; i < rows; ++i) {
    const size_t vocab = least + random() % (most - least + 1);
    const std::vector<float> logits = random.logits(vocab);
    for (int j = 0; j < settings; ++j) {
      const SamplingParameters p = random.parameters(vocab);
      const int64_t expected = sample(logits, p);
      for (CpuTarget target : targets)
        ASSERT_EQ(sampled(target, logits, p), expected)
            << name(target) << ", row " << i << ", setting " << j << ": V " << vocab
            << " temperature " << p.temperature << " top_k " << p.top_k << " top_p " << p.top_p
            << " min_p " << p.min_p << " seed " << p.seed << " position " << p.position
            << " stream " << p.stream;
    }
  }
}

class SampleRandomTest : public SampleTargetTest {
 protected:
  void expect(uint64_t seed, int rows, size_t least, size_t most, int settings) {
    RandomCases random(seed);
    expect_random_rows(random, rows, least, most, settings,
                       [&](CpuTarget target, const std::vector<float>& x,
                           const SamplingParameters& p) { return sampled(target, x, p); });
  }
};
// One pass compares all targets with the plain sampler, which is the slower part.
INSTANTIATE_TEST_SUITE_P(AllTargets, SampleRandomTest, testing::Values(CpuTarget::kScalar),
                         target_name);

TEST_P(SampleRandomTest, SmallRows) { expect(1, 48200, 1, 300, 2); }
TEST_P(SampleRandomTest, MiddleRows) { expect(2, 1100, 300, 3000, 3); }
TEST_P(SampleRandomTest, LargeRows) { expect(3, 60, 3000, 40000, 8); }
TEST_P(SampleRandomTest, WholeVocabularies) { expect(4, 12, 262144, 262144, 5); }

TEST_P(SampleTest, SizesThatFillNoVector) {
  std::vector<size_t> sizes;
  for (size_t vocab = 1; vocab <= 70; ++vocab) sizes.push_back(vocab);
  for (size_t vocab : {255, 256, 257, 511, 512, 513, 4095, 4097, 16383, 16385})
    sizes.push_back(vocab);
  RandomCases random(5);
  for (size_t vocab : sizes) {
    // The row ends where its memory does.
    std::vector<float> logits(vocab);
    for (float& x : logits) x = static_cast<float>(random() % 1000) / 100;
    logits.shrink_to_fit();
    for (const SamplingParameters& p :
         {SamplingParameters{.temperature = 0}, SamplingParameters{},
          SamplingParameters{.top_k = 5}, SamplingParameters{.temperature = 4, .top_p = 0.8f},
          SamplingParameters{.temperature = 4, .top_p = 0.2f}, SamplingParameters{.min_p = 0.01f}})
      ASSERT_EQ(sampled(logits, p), sample(logits, p)) << vocab;
    logits.back() = 100;
    EXPECT_EQ(sampled(logits, {.temperature = 0}), static_cast<int64_t>(vocab) - 1);
  }
  EXPECT_EQ(sampled({}, {}), -1);
}

// A host that flushes denormals to zero, and reads them as zero, gets the same tokens.
#if defined(__x86_64__)
TEST_P(SampleTest, FlushingDenormalsChangesNothing) {
  RandomCases random(6);
  const std::vector<float> values = {1e-45f, -1e-45f, 0.0f,     -0.0f,
                                     1e-38f, -1e-38f, 1.2e-38f, 3e-45f};
  for (int i = 0; i < 2000; ++i) {
    std::vector<float> logits(1 + random() % 600);
    for (float& x : logits) x = values[random() % (i % 2 ? values.size() : 4)];
    SamplingParameters p = random.parameters(logits.size());
    if (i % 3 == 0) p.min_p = 1e-45f;
    const int64_t expected = sample(logits, p);
    const unsigned saved = _mm_getcsr();
    _mm_setcsr(saved | 0x8040);
    const int64_t flushed = sampled(logits, p);
    _mm_setcsr(saved);
    ASSERT_EQ(flushed, expected) << i << " top_k " << p.top_k << " top_p " << p.top_p;
  }
}
#endif

// Rows do not see each other: greedy beside sampled, NaN and banned rows beside good ones.
TEST_P(SampleTest, RowsOfABatchEqualTheirSoloRuns) {
  RandomCases random(7);
  for (const auto& [rows, vocab] :
       std::vector<std::pair<size_t, size_t>>{{1, 300}, {2, 1}, {7, 1000}, {32, 257}, {5, 5000}}) {
    std::vector<float> logits;
    std::vector<SamplingParameters> parameters;
    for (size_t row = 0; row < rows; ++row) {
      std::vector<float> x = random.logits(vocab);
      if (row % 5 == 1) std::fill(x.begin(), x.end(), -kInfinity);
      if (row % 5 == 3) x[vocab / 2] = kNan;
      logits.insert(logits.end(), x.begin(), x.end());
      parameters.push_back(random.parameters(vocab));
      if (row % 4 == 0) parameters.back().temperature = 0;
    }
    for (int threads : {1, 2, 3}) {
      const ThreadPool pool(threads);
      std::vector<int64_t> tokens(rows, -7);
      std::vector<std::byte> memory(
          sample_rows_bytes(static_cast<int64_t>(rows), static_cast<int64_t>(vocab), threads));
      sample_all(GetParam(), pool, logits, parameters, tokens, memory);
      for (size_t row = 0; row < rows; ++row) {
        const auto x = std::span(logits).subspan(row * vocab, vocab);
        EXPECT_EQ(tokens[row], sample(x, parameters[row])) << row << " of " << rows;
      }
    }
  }
}

TEST(SampleScratch, RefusesWhatDoesNotFit) {
  std::vector<std::byte> memory(SampleScratch::bytes(1000));
  EXPECT_THROW(SampleScratch(memory, 5000), Error);
  EXPECT_THROW(SampleScratch(memory, -1), Error);
  EXPECT_THROW(SampleScratch(memory, int64_t{1} << 23), Error);
  SampleScratch scratch(memory, 1000);
  const std::vector<float> logits(1001);
  EXPECT_THROW(sample_row(CpuTarget::kScalar, logits, {}, scratch), Error);

#if defined(__x86_64__)
  EXPECT_THROW(sample_row(CpuTarget::kNeon, std::span(logits).first(9), {}, scratch), Error);
#endif

  const ThreadPool pool(1);
  const std::vector<SamplingParameters> parameters(2);
  std::vector<int64_t> tokens(2);
  std::vector<std::byte> enough(sample_rows_bytes(2, 500, 1));
  const auto even = std::span(logits).first(1000);
  EXPECT_THROW(sample_all(CpuTarget::kScalar, pool, even, parameters, tokens,
                          std::span(enough).first(enough.size() - 1)),
               Error);
  EXPECT_NO_THROW(sample_all(CpuTarget::kScalar, pool, even, parameters, tokens, enough));
}

}  // namespace
}  // namespace gumbel::cpu
