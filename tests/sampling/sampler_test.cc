// The plain sampler against the reference's answers.
#include "sampling/sampler.h"

#include <gtest/gtest.h>

#include "sampling/test_vectors.h"

namespace gumbel {
namespace {

TEST(Sampler, EqualsReference) {
  ASSERT_EQ(sampling_vector_count(), 2740u);
  for (size_t i = 0; i < sampling_vector_count(); ++i) {
    const SamplingVector vector = sampling_vector(i);
    const Draw drawn = draw(vector.logits, vector.parameters);
    ASSERT_EQ(drawn.token, vector.expected.token) << vector.name;
    ASSERT_EQ(drawn.random, vector.expected.random) << vector.name;
    ASSERT_EQ(drawn.score, vector.expected.score) << vector.name;
    ASSERT_EQ(drawn.kept, vector.expected.kept) << vector.name;
    ASSERT_EQ(drawn.has_mass, vector.expected.has_mass) << vector.name;
    ASSERT_EQ(drawn.total, vector.expected.total) << vector.name;
    ASSERT_EQ(drawn.limit, vector.expected.limit) << vector.name;
  }
}

}  // namespace
}  // namespace gumbel
