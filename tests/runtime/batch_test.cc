// Rows of a batch are what they would be alone, bit for bit.
#include <random>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "export/test_files.h"
#include "program/tiny_program.h"
#include "runtime/running_program.h"
#include "sampling/sampler.h"

namespace gumbel {
namespace {

using test::DrawInputs;
using test::RunningProgram;

constexpr size_t kRows = 3;

std::unique_ptr<Backend> backend(bool cpu) {
  if (!cpu) return make_reference_backend();
  return std::make_unique<cpu::CpuBackend>(cpu::supported_targets().front(), 2);
}

struct Case {
  bool cpu;
  WeightType type;
};

class Batch : public testing::TestWithParam<Case> {
 protected:
  std::filesystem::path write(bool sample) const {
    test::TinyModel model;
    model.type = GetParam().type;
    model.kv = model.type == WeightType::kF32 ? DataType::kF32 : DataType::kF16;
    model.window = 8;
    model.max_chunk = 8;
    model.sample = sample;
    const auto path = folder_.path() / (sample ? "sample.gumbel" : "logits.gumbel");
    test::write_tiny_program(path, model, *make_reference_backend());
    return path;
  }

  // The tokens that row `row` is fed in step `step`: five steps of 8, 1, 1, 8 and 3.
  static std::vector<int64_t> fed(size_t row, size_t step) {
    constexpr size_t kCounts[] = {8, 1, 1, 8, 3};
    std::mt19937 random(static_cast<uint32_t>(100 * row + step));
    std::vector<int64_t> tokens(kCounts[step]);
    for (int64_t& token : tokens) token = random() % 50;
    return tokens;
  }
  static constexpr size_t kSteps = 5;

  // Rows begin to be fed together when they hold 0, 5 and 13 positions.
  static std::vector<int64_t> head_start(size_t row) {
    constexpr size_t kHeld[kRows] = {0, 5, 13};
    std::mt19937 random(static_cast<uint32_t>(row));
    std::vector<int64_t> tokens(kHeld[row]);
    for (int64_t& token : tokens) token = random() % 50;
    return tokens;
  }

  test::TemporaryFolder folder_;
};

// Feeds row `row` of `state` its head start, the other rows something that they step back from.
void prepare(RunningProgram& p, SessionState& state,
             const std::vector<std::vector<int64_t>>& starts) {
  const size_t rows = starts.size();
  std::vector<int64_t> at(rows, 0);
  for (bool left = true; left;) {
    left = false;
    std::vector<int64_t> tokens;
    for (size_t row = 0; row < rows; ++row) {
      const auto i = static_cast<size_t>(at[row]);
      left |= i + 1 < starts[row].size();
      tokens.push_back(i < starts[row].size() ? starts[row][i] : 7);
    }
    p.logits("forward_all", tokens, at, state);
    for (size_t row = 0; row < rows; ++row)
      if (static_cast<size_t>(at[row]) < starts[row].size()) ++at[row];
  }
}

TEST_P(Batch, LogitsAreThoseOfSoloRuns) {
  const auto path = write(false);
  RunningProgram p(path, backend(GetParam().cpu), kRows);
  SessionState together = p.new_state(kRows);
  std::vector<std::vector<int64_t>> starts;
  for (size_t row = 0; row < kRows; ++row) starts.push_back(head_start(row));
  prepare(p, together, starts);
  std::vector<SessionState> alone;
  for (size_t row = 0; row < kRows; ++row) {
    alone.push_back(p.new_state(1));
    for (size_t i = 0; i < starts[row].size(); ++i)
      p.logits("forward", {starts[row][i]}, {static_cast<int64_t>(i)}, alone.back());
  }
  std::vector<int64_t> at;
  for (const auto& start : starts) at.push_back(std::ssize(start));
  for (size_t step = 0; step < kSteps; ++step) {
    std::vector<int64_t> tokens;
    for (size_t row = 0; row < kRows; ++row) {
      const std::vector<int64_t> own = fed(row, step);
      tokens.insert(tokens.end(), own.begin(), own.end());
    }
    const std::vector<float> logits = p.logits("forward_all", tokens, at, together);
    const size_t per_row = logits.size() / kRows;
    for (size_t row = 0; row < kRows; ++row) {
      const auto own = p.logits("forward_all", fed(row, step), {at[row]}, alone[row]);
      EXPECT_TRUE(
          std::equal(own.begin(), own.end(), logits.begin() + static_cast<int64_t>(row * per_row)))
          << "row " << row << ", step " << step;
      at[row] += std::ssize(fed(row, step));
    }
  }
}

// One seed a row: a row draws what it would alone. One seed for all: row r draws from stream r.
TEST_P(Batch, DrawsFollowTheStreamRule) {
  const auto sampled = write(true);
  const auto logits_path = write(false);
  RunningProgram p(sampled, backend(GetParam().cpu), kRows);
  RunningProgram logits_program(logits_path, backend(GetParam().cpu), kRows);

  DrawInputs each;
  each.temperature = {0.7f, 1.9f, 1.0f};
  each.top_k = {0, 20, 5};
  each.top_p = {0.9f, 1.0f, 0.8f};
  each.min_p = {0.0f, 0.01f, 0.0f};
  DrawInputs shared;
  shared.temperature = {1.6f};
  for (int64_t seed = 0; seed < 15; ++seed) {
    each.seed = {seed, seed, -seed};
    shared.seed = {seed};
    std::vector<int64_t> tokens;
    for (size_t row = 0; row < kRows; ++row) {
      const std::vector<int64_t> own = fed(row, 0);
      tokens.insert(tokens.end(), own.begin(), own.end());
    }
    SessionState a = p.new_state(kRows);
    const std::vector<int64_t> drawn_each = p.draw(tokens, {0, 0, 0}, a, each);
    a.reset();
    const std::vector<int64_t> drawn_shared = p.draw(tokens, {0, 0, 0}, a, shared);
    for (size_t row = 0; row < kRows; ++row) {
      DrawInputs solo;
      solo.temperature = {each.temperature[row]};
      solo.top_k = {each.top_k[row]};
      solo.top_p = {each.top_p[row]};
      solo.min_p = {each.min_p[row]};
      solo.seed = {each.seed[row]};
      SessionState b = p.new_state(1);
      EXPECT_EQ(p.draw(fed(row, 0), {0}, b, solo)[0], drawn_each[row]) << "row " << row;

      SessionState c = logits_program.new_state(1);
      const auto logits = logits_program.logits("forward", fed(row, 0), {0}, c);
      SamplingParameters parameters;
      parameters.temperature = 1.6f;
      parameters.seed = static_cast<uint64_t>(seed);
      parameters.position = 8;
      parameters.stream = static_cast<uint32_t>(row);
      EXPECT_EQ(sample(logits, parameters), drawn_shared[row]) << "row " << row;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Backends, Batch,
                         testing::Values(Case{false, WeightType::kF32},
                                         Case{false, WeightType::kQ8_0},
                                         Case{true, WeightType::kF32},
                                         Case{true, WeightType::kQ8_0},
                                         Case{true, WeightType::kQ4_1}),
                         [](const auto& c) {
                           return std::string(c.param.cpu ? "Cpu" : "Reference") +
                                  std::string(traits(c.param.type).name);
                         });

}  // namespace
}  // namespace gumbel
