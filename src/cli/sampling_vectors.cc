#include "cli/sampling_vectors.h"

#include <bit>
#include <exception>
#include <fstream>
#include <limits>
#include <stdexcept>

#include "base/error.h"
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

SamplingVector decode_case(const nlohmann::json& source, size_t index) {
  SamplingVector vector;
  vector.name = source.at("name").get<std::string>() + ", case " + std::to_string(index);
  if (source.contains("logits")) {
    for (const nlohmann::json& bits : source["logits"])
      vector.logits.push_back(std::bit_cast<float>(bits.get<uint32_t>()));
  } else {
    const int64_t vocab = source.at("vocab");
    if (vocab < 1 || vocab >= (1 << 23)) throw std::out_of_range("vocab below 1 or above 2^23");
    vector.logits =
        recipe_logits(vocab, source.at("logit_seed"), source.at("power"), source.at("scale"));
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

}  // namespace

nlohmann::json read_sampling_vectors(const std::filesystem::path& path) {
  std::ifstream stream(path);
  if (!stream || std::filesystem::is_directory(path))
    fail(ErrorCode::kIo, "{}: cannot read the stored answers", path.string());
  nlohmann::json file = nlohmann::json::parse(stream, nullptr, /*allow_exceptions=*/false);
  if (!file.is_object() || !file.contains("cases") || !file["cases"].is_array())
    fail(ErrorCode::kCorruptFile, "{}: expected JSON with \"cases\"", path.string());
  return file;
}

SamplingVector sampling_vector(const nlohmann::json& file, size_t index) {
  try {
    return decode_case(file.at("cases").at(index), index);
  } catch (const std::exception& error) {
    fail(ErrorCode::kCorruptFile, "sampling vectors: case {}: {}", index, error.what());
  }
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
