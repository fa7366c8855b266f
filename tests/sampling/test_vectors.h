// The stored answers of the sampling contract: tests/data/sampling/vectors.json, written by
// make_vectors.py beside it from reference.py.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sampling/sampler.h"

namespace gumbel {

struct SamplingVector {
  std::string name;  // with its index in the file
  std::vector<float> logits;
  SamplingParameters parameters;
  Draw expected;
};

/// The whole file as JSON: {"cases": [...], "tables": {...}}.
const nlohmann::json& sampling_vectors_json();

/// Case `index` of the file.
SamplingVector sampling_vector(size_t index);

/// Number of cases in the file.
size_t sampling_vector_count();

/// Logits that every language can repeat; see make_vectors.py.
std::vector<float> recipe_logits(int64_t vocab, uint64_t seed, int power, float scale);

}  // namespace gumbel
