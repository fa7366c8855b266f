// The stored answers of the sampling contract, read once.
#pragma once

#include "cli/sampling_vectors.h"

namespace gumbel {

inline const nlohmann::json& sampling_vectors_json() {
  static const nlohmann::json file =
      read_sampling_vectors(GUMBEL_TEST_DATA "/sampling/vectors.json");
  return file;
}

inline SamplingVector sampling_vector(size_t index) {
  return sampling_vector(sampling_vectors_json(), index);
}

inline size_t sampling_vector_count() { return sampling_vectors_json().at("cases").size(); }

}  // namespace gumbel
