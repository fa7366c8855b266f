// The vectorized sampler draws the plain sampler's token, on every instruction set.
#include "backends/cpu/sample.h"

#include <gtest/gtest.h>

#include <vector>

#include "sampling/sampler.h"
#include "sampling/test_vectors.h"

namespace gumbel::cpu {
namespace {

class SampleTest : public testing::TestWithParam<CpuTarget> {
 protected:
  int64_t sampled(std::span<const float> logits, const SamplingParameters& parameters) {
    const auto vocab = static_cast<int64_t>(logits.size());
    memory_.resize(std::max(memory_.size(), SampleScratch::bytes(vocab)));
    SampleScratch scratch(memory_, vocab);
    return sample_row(GetParam(), logits, parameters, scratch);
  }

 private:
  std::vector<std::byte> memory_;
};

INSTANTIATE_TEST_SUITE_P(Targets, SampleTest, testing::ValuesIn(supported_targets()),
                         [](const auto& test) { return std::string(name(test.param)); });

TEST_P(SampleTest, EqualsReference) {
  ASSERT_EQ(sampling_vector_count(), 2740u);
  for (size_t i = 0; i < sampling_vector_count(); ++i) {
    const SamplingVector vector = sampling_vector(i);
    ASSERT_EQ(sampled(vector.logits, vector.parameters), vector.expected.token) << vector.name;
  }
}

}  // namespace
}  // namespace gumbel::cpu
