#include "sampling/test_vectors.h"

#include <bit>
#include <fstream>
#include <limits>

#include "sampling/noise.h"

namespace gumbel {
namespace {

constexpr uint32_t kDomainLogits = 0x4C4F4749;  // "LOGI"

// A parameter as the file has it: null is NaN, "inf" infinity; doubles round to float.
float parameter(const nlohmann::json& test_case, const char* key, float off) {
  if (!test_case.contains(key)) return off;
  const nlohmann::json& value = test_case[key];
  if (value.is_null()) return std::numeric_limits<float>::quiet_NaN();
  if (value.is_string()) return std::numeric_limits<float>::infinity();
  return static_cast<float>(value.get<double>());
}

uint64_t integer(const nlohmann::json& test_case, const char* key) {
  return test_case.contains(key) ? std::stoull(test_case[key].get<std::string>()) : 0;
}

}  // namespace

const nlohmann::json& sampling_vectors_json() {
  static const nlohmann::json file = [] {
    std::ifstream stream(GUMBEL_TEST_DATA "/sampling/vectors.json");
    return nlohmann::json::parse(stream);
  }();
  return file;
}

size_t sampling_vector_count() { return sampling_vectors_json().at("cases").size(); }

SamplingVector sampling_vector(size_t index) {
  const nlohmann::json& source = sampling_vectors_json().at("cases").at(index);
  SamplingVector vector;
  vector.name = source.at("name").get<std::string>() + ", case " + std::to_string(index);
  if (source.contains("logits")) {
    for (const nlohmann::json& bits : source["logits"])
      vector.logits.push_back(std::bit_cast<float>(bits.get<uint32_t>()));
  } else {
    vector.logits = recipe_logits(source.at("vocab"), source.at("logit_seed"), source.at("power"),
                                  source.at("scale"));
  }
  vector.parameters = {.temperature = parameter(source, "temperature", 1),
                       .top_k = source.value("top_k", int64_t{0}),
                       .top_p = parameter(source, "top_p", 1),
                       .min_p = parameter(source, "min_p", 0),
                       .seed = integer(source, "seed"),
                       .position = source.at("position"),
                       .stream = source.at("stream")};
  vector.expected = {.token = source.at("token"),
                     .random = source.contains("score"),
                     .score = source.value("score", 0),
                     .kept = source.value("kept", int64_t{0}),
                     .has_mass = source.contains("total"),
                     .total = integer(source, "total"),
                     .limit = integer(source, "limit")};
  return vector;
}

std::vector<float> recipe_logits(int64_t vocab, uint64_t seed, int power, float scale) {
  std::vector<float> logits(static_cast<size_t>(vocab));
  for (size_t i = 0; i < logits.size(); ++i) {
    const uint32_t word = random_word(static_cast<uint32_t>(i), {seed, 0, 0}, kDomainLogits);
    float u = static_cast<float>(word >> 8) * 0x1p-24f;
    for (int squared = 1; squared < power; squared *= 2) u *= u;
    logits[i] = (u - 0.5f) * scale;
  }
  return logits;
}

}  // namespace gumbel
