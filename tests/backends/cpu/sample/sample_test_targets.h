// Running the sampling op on one instruction set after the other.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "backends/cpu/sample/sample.h"

namespace gumbel::cpu {

/// A test that runs once for every instruction set of the machine.
class SampleTargetTest : public testing::TestWithParam<CpuTarget> {
 protected:
  int64_t sampled(std::span<const float> logits, const SamplingParameters& parameters) {
    return sampled(GetParam(), logits, parameters);
  }

  /// Scratch is exactly as long as promised, so that a sanitizer sees a write beyond it, and starts
  /// unlike zero.
  int64_t sampled(CpuTarget target, std::span<const float> logits,
                  const SamplingParameters& parameters) {
    const auto vocab = static_cast<int64_t>(logits.size());
    if (vocab != vocab_) memory_.assign(SampleScratch::bytes(vocab), std::byte{0xA5});
    vocab_ = vocab;
    SampleScratch scratch(memory_, vocab);
    return sample_row(target, logits, parameters, scratch);
  }

 private:
  int64_t vocab_ = -1;
  std::vector<std::byte> memory_;
};

/// sample_rows() of contiguous `logits` [rows, vocab] with the parameters of each row.
inline void sample_all(CpuTarget target, const ThreadPool& pool, std::span<const float> logits,
                       const std::vector<SamplingParameters>& parameters,
                       std::vector<int64_t>& tokens, std::span<std::byte> memory) {
  const auto rows = static_cast<int64_t>(tokens.size());
  const int64_t vocab = static_cast<int64_t>(logits.size()) / rows;
  sample_rows(
      target, pool, {logits.data(), rows, vocab, vocab},
      [&](int64_t row) { return parameters[static_cast<size_t>(row)]; }, tokens.data(), memory);
}

inline std::string target_name(const testing::TestParamInfo<CpuTarget>& target) {
  return std::string(name(target.param));
}

}  // namespace gumbel::cpu
