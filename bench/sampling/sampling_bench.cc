// Microseconds per draw on one thread at V = 262,144: every setting, shape of logits and
// instruction set. The row is in cache; the position advances, so the average is over draws, not
// over one of them.
//
//   sampling_bench [--benchmark_filter=avx2/top_p]
#include <benchmark/benchmark.h>

#include <cmath>
#include <string>
#include <vector>

#include "backends/cpu/sample/sample.h"
#include "sampling/noise.h"

namespace gumbel::cpu {
namespace {

constexpr int64_t kVocab = 262144;

struct Setting {
  const char* name;
  SamplingParameters parameters;
};

const Setting kSettings[] = {
    {"greedy", {.temperature = 0}},
    {"unfiltered", {}},
    {"top_k_64_top_p_0.95_t_0.8", {.temperature = 0.8f, .top_k = 64, .top_p = 0.95f}},
    {"top_p_0.95_t_0.8", {.temperature = 0.8f, .top_p = 0.95f}},
    {"top_p_0.95_t_2", {.temperature = 2, .top_p = 0.95f}},
    {"top_p_0.9", {.top_p = 0.9f}},
    {"top_p_0.7", {.top_p = 0.7f}},
    {"top_p_0.5", {.top_p = 0.5f}},
    {"top_p_0.3", {.top_p = 0.3f}},
    {"top_p_0.05", {.top_p = 0.05f}},
    {"min_p_0.05_t_0.8", {.temperature = 0.8f, .min_p = 0.05f}},
    {"top_k_1000", {.top_k = 1000}},
    {"top_k_100000", {.top_k = 100000}},
    {"top_k_100000_top_p_0.9_min_p_0.01", {.top_k = 100000, .top_p = 0.9f, .min_p = 0.01f}},
};

float uniform(uint32_t token, uint32_t domain) {
  return (static_cast<float>(random_word(token, {1, 0, 0}, domain) >> 8) + 0.5f) * 0x1p-24f;
}

// A language model's logits: most tokens around -8 with a deviation of 2.5, and a head whose
// probabilities fall as a power of the rank, at scattered ids.
std::vector<float> language_model_logits() {
  std::vector<float> logits(kVocab);
  for (uint32_t i = 0; i < kVocab; ++i)
    logits[i] =
        -8 + 2.5f * std::sqrt(-2 * std::log(uniform(i, 1))) * std::cos(6.2831853f * uniform(i, 2));
  for (uint32_t rank = 0; rank < 2000; ++rank)
    logits[(rank * 104729u + 17u) % kVocab] =
        12 - 1.3f * std::log(static_cast<float>(rank) + 1) + 0.5f * uniform(rank, 3);
  return logits;
}

std::vector<float> flat_logits() {
  std::vector<float> logits(kVocab);
  for (uint32_t i = 0; i < kVocab; ++i) logits[i] = 0.25f * uniform(i, 1);
  return logits;
}

std::vector<float> peaked_logits() {
  std::vector<float> logits(kVocab);
  for (uint32_t i = 0; i < kVocab; ++i) logits[i] = 3 * uniform(i, 1);
  logits[123456] = 30;
  return logits;
}

void draw(benchmark::State& state, CpuTarget target, const std::vector<float>& logits,
          SamplingParameters parameters) {
  std::vector<std::byte> memory(SampleScratch::bytes(kVocab));
  SampleScratch scratch(memory, kVocab);
  for (auto _ : state) {
    benchmark::DoNotOptimize(sample_row(target, logits, parameters, scratch));
    ++parameters.position;
  }
}

void register_benchmarks() {
  static const std::vector<std::pair<std::string, std::vector<float>>> shapes = {
      {"language_model", language_model_logits()},
      {"flat", flat_logits()},
      {"peaked", peaked_logits()}};
  for (CpuTarget target : supported_targets())
    for (const Setting& setting : kSettings)
      for (const auto& [shape, logits] : shapes)
        benchmark::RegisterBenchmark(
            (std::string(name(target)) + "/" + setting.name + "/" + shape).c_str(),
            [target, &row = logits, parameters = setting.parameters](benchmark::State& state) {
              draw(state, target, row, parameters);
            })
            ->Unit(benchmark::kMicrosecond);
}

}  // namespace
}  // namespace gumbel::cpu

int main(int argc, char** argv) {
  gumbel::cpu::register_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
