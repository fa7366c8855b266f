// Stored answers of the sampling contract (tests/data/sampling/vectors.json, which make_vectors.py
// beside it writes from reference.py).
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sampling/sampler.h"

namespace gumbel {

/// One case: a row, the parameters of its draw, and what the contract draws.
struct SamplingVector {
  std::string name;  ///< with its index in the file
  std::vector<float> logits;
  SamplingParameters parameters;
  Draw expected;
};

/// The file as JSON: {"cases": [...], "tables": {...}}. Throws Error(kIo) where it cannot be read
/// and Error(kCorruptFile) where it is no such JSON.
nlohmann::json read_sampling_vectors(const std::filesystem::path& path);

/// Case `index` of "cases". Throws Error(kCorruptFile) naming a case that is malformed.
SamplingVector sampling_vector(const nlohmann::json& file, size_t index);

/// Logits that every language can repeat; see make_vectors.py.
std::vector<float> recipe_logits(int64_t vocab, uint64_t seed, int power, float scale);

}  // namespace gumbel
