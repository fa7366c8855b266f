// Needles in 32,768 positions: a program with one full and one sliding attention layer over the
// same keys and values, fed in chunks, against attention in double precision over all tokens at
// once.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <random>

#include "backends/cpu/cpu_backend.h"
#include "export/checkpoint_index.h"
#include "export/test_files.h"
#include "program/tiny_program.h"
#include "runtime/running_program.h"

namespace gumbel {
namespace {

using test::RunningProgram;
using test::TemporaryFolder;

constexpr int64_t kLength = 32'768;
constexpr int64_t kWindow = 1'024;
constexpr int64_t kDim = 16;
constexpr int64_t kRotated = 8;  // the rest of a head does not depend on positions
// Tokens: hay, needles, and the questions that look for them.
constexpr int64_t kHay = 10;
// Early, in the middle of a block of keys, one position out of the window, the first in it, late.
constexpr int64_t kNeedlesAt[] = {3, 17'001, kLength - kWindow - 1, kLength - kWindow, kLength - 2};
constexpr int64_t kNeedles = std::ssize(kNeedlesAt);
constexpr int64_t kVocab = kHay + 2 * kNeedles;

class FixedTensor : public CheckpointTensor {
 public:
  FixedTensor(std::vector<int64_t> shape, std::vector<float> values)
      : shape_(std::move(shape)), values_(std::move(values)) {}
  WeightType type() const override { return WeightType::kF32; }
  const std::vector<int64_t>& shape() const override { return shape_; }
  void read_rows(int64_t first, int64_t count, WeightRows& out) const override {
    out.resize(WeightType::kF32, count, shape_.back());
    std::copy_n(values_.begin() + first * shape_.back(), count * shape_.back(), out.floats.begin());
  }
  const std::vector<float>& values() const { return values_; }

 private:
  std::vector<int64_t> shape_;
  std::vector<float> values_;
};

// Tables [kVocab, kDim] of the query, key and value of each token. A needle's key is what the query
// of its question asks for: signs of a row of their own of a Hadamard matrix, orthogonal to the
// others'. Its value is like no other.
std::map<std::string, std::vector<float>> tables() {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0.0f, 0.5f);
  std::map<std::string, std::vector<float>> result;
  for (const char* name : {"q", "k", "v"}) {
    std::vector<float>& table = result[name];
    for (int64_t i = 0; i < kVocab * kDim; ++i) table.push_back(normal(random));
  }
  for (int64_t n = 0; n < kNeedles; ++n)
    for (int64_t d = 0; d < kDim; ++d) {
      const bool odd = std::popcount(static_cast<uint64_t>((n + 1) & d)) % 2 != 0;
      const float sign = d < kRotated ? 0.0f : odd ? -1.8f : 1.8f;
      result["q"][static_cast<size_t>((kHay + kNeedles + n) * kDim + d)] = sign;
      result["k"][static_cast<size_t>((kHay + n) * kDim + d)] = sign;
      result["v"][static_cast<size_t>((kHay + n) * kDim + d)] = static_cast<float>(5 + n);
    }
  return result;
}

const std::vector<float> kFrequencies = {1.0f, 0.1f, 0.001f, 0.00001f};

// For each layer a method that returns what the last position attends, [B, kDim], and one that only
// stores keys and values.
std::filesystem::path write_program(const TemporaryFolder& folder, const Backend& backend,
                                    DataType kv) {
  CheckpointIndex checkpoint("tables");
  for (const auto& [name, values] : tables())
    checkpoint.add(name, std::make_unique<FixedTensor>(std::vector<int64_t>{kVocab, kDim}, values));
  ProgramBuilder builder(checkpoint);
  for (const auto& [name, window] : {std::pair{"full", int64_t{0}}, {"sliding", kWindow}})
    for (const bool attends : {false, true}) {
      MethodBuilder g(builder, std::string(attends ? "" : "fill_") + name);
      const ValueId tokens = g.input("tokens", DataType::kI64, {kBatch, kTime});
      const ValueId input_pos = g.input("input_pos", DataType::kI64, {kBatch, kTime});
      const ValueId table = g.rotary_table(input_pos, "frequencies", kFrequencies);
      const auto heads = [&](const char* weight) {
        return g.split_heads(g.embedding(tokens, weight, kVocab, kDim, 1.0f), 1);
      };
      const int32_t cache =
          builder.kv_cache({std::string(name) + ".cache", 1, kDim, kDim, kv, window});
      g.cache_update(g.rotary(heads("k"), table), heads("v"), input_pos, cache);
      if (!attends) {
        g.finish({});
        continue;
      }
      const ValueId attended = g.attention(g.rotary(heads("q"), table), input_pos, cache, 1.0f);
      g.finish({g.select_last(g.join_heads(attended))});
    }
  test::TinyModel model;
  model.max_length = kLength;
  model.max_chunk = 128;
  const auto path = folder.path() / "needle.gumbel";
  test::write_built_program(path, builder, model, backend);
  return path;
}

// Attention of the last position of `tokens`, from position `first` on, in double precision.
std::vector<double> uncached(const std::vector<int64_t>& tokens, int64_t first) {
  const auto all = tables();
  const auto rotated = [&](const char* name, int64_t position) {
    const std::vector<float>& table = all.at(name);
    const auto row = table.begin() + tokens[static_cast<size_t>(position)] * kDim;
    std::vector<double> x(row, row + kDim);
    for (size_t i = 0; i < kFrequencies.size(); ++i) {
      const double angle = static_cast<double>(position) * static_cast<double>(kFrequencies[i]);
      const double a = x[i], b = x[i + kFrequencies.size()];
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[i + kFrequencies.size()] = b * std::cos(angle) + a * std::sin(angle);
    }
    return x;
  };
  const auto last = static_cast<int64_t>(tokens.size()) - 1;
  const std::vector<double> q = rotated("q", last);
  std::vector<double> out(kDim);
  double sum = 0;
  for (int64_t position = first; position <= last; ++position) {
    const std::vector<double> k = rotated("k", position);
    double score = 0;
    for (size_t d = 0; d < kDim; ++d) score += q[d] * k[d];
    const double weight = std::exp(score);
    sum += weight;
    for (size_t d = 0; d < kDim; ++d)
      out[d] +=
          weight * static_cast<double>(all.at(
                       "v")[static_cast<size_t>(tokens[static_cast<size_t>(position)] * kDim) + d]);
  }
  for (double& x : out) x /= sum;
  return out;
}

// A session of layer `name` that holds all positions but the last.
SessionState filled(RunningProgram& program, const std::string& name,
                    const std::vector<int64_t>& tokens) {
  SessionState state = program.new_state(1);
  for (int64_t first = 0; first < kLength - 1; first += 128) {
    const int64_t last = std::min(first + 128, kLength - 1);
    const std::vector<int64_t> chunk(tokens.begin() + first, tokens.begin() + last);
    const std::vector<int64_t> positions = test::positions({first}, last - first);
    const Tensor inputs[] = {test::matrix(chunk, 1), test::matrix(positions, 1)};
    program.executor("fill_" + name).run(inputs, &state);
  }
  return state;
}

TEST(LongContext, NeedlesAreAttendedInFullAndSlidingLayers) {
  std::mt19937 random(4);
  std::vector<int64_t> tokens(kLength);
  for (int64_t& token : tokens) token = static_cast<int64_t>(random() % kHay);
  for (int64_t n = 0; n < kNeedles; ++n) tokens[static_cast<size_t>(kNeedlesAt[n])] = kHay + n;
  const TemporaryFolder folder;
  for (const DataType kv : {DataType::kF32, DataType::kF16}) {
    const auto target = cpu::supported_targets().back();
    const auto path = write_program(folder, cpu::CpuBackend(target, 1), kv);
    RunningProgram program(path, std::make_unique<cpu::CpuBackend>(target, 2), 1);
    // Keys and values round by 2^-11 of themselves in float16: scores, up to 26, by about 0.01,
    // weights by as much of themselves, and so averages of values up to 9 by less than 0.1.
    const double bound = kv == DataType::kF32 ? 1e-3 : 0.1;
    const SessionState full = filled(program, "full", tokens);
    const SessionState sliding = filled(program, "sliding", tokens);
    for (int64_t n = 0; n < kNeedles; ++n) {
      tokens.back() = kHay + kNeedles + n;
      SessionState full_branch = full.branch();
      SessionState sliding_branch = sliding.branch();
      const std::vector<float> of_full =
          program.logits("full", {tokens.back()}, {kLength - 1}, full_branch);
      const std::vector<float> of_sliding =
          program.logits("sliding", {tokens.back()}, {kLength - 1}, sliding_branch);
      const std::vector<double> expected_full = uncached(tokens, 0);
      const std::vector<double> expected_sliding = uncached(tokens, kLength - kWindow);
      for (size_t d = 0; d < kDim; ++d) {
        EXPECT_NEAR(of_full[d], expected_full[d], bound) << "needle " << n;
        EXPECT_NEAR(of_sliding[d], expected_sliding[d], bound) << "needle " << n;
      }
      // The needle's value is 5 + n in every element; hay's average is near 0.
      const float value = static_cast<float>(5 + n) - 0.2f;
      EXPECT_GT(of_full[0], value) << "needle " << n;
      EXPECT_EQ(of_sliding[0] > value, kNeedlesAt[n] >= kLength - kWindow) << "needle " << n;
    }
  }
}

}  // namespace
}  // namespace gumbel
