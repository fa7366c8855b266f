#include "runtime/executor.h"

#include <array>
#include <functional>

#include "backends/reference/reference_backend.h"
#include "export/test_files.h"
#include "program/tiny_program.h"
#include "runtime/running_program.h"

namespace gumbel {
namespace {

using test::DrawInputs;
using test::expect_error;
using test::matrix;
using test::RunningProgram;

class ExecutorTest : public testing::Test {
 protected:
  ExecutorTest() {
    test::TinyModel model;
    model.sample = true;
    test::write_tiny_program(path_, model, *make_reference_backend());
    running_.emplace(path_, make_reference_backend(), 2);
    state_.emplace(running_->new_state(2));
  }

  // All inputs of forward for two rows of two tokens.
  std::vector<Tensor> good() const {
    std::vector<Tensor> inputs = {matrix(tokens_, 2), matrix(positions_, 2)};
    const std::vector<Tensor> parameters = test::tensors(draw_);
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
    return inputs;
  }

  void expect_refused(const std::vector<Tensor>& inputs, std::string_view message) {
    const std::array<int64_t, 2> before = {state_->length(0), state_->length(1)};
    expect_error(ErrorCode::kInvalidArgument, message,
                 [&] { running_->executor("forward").run(inputs, &*state_); });
    EXPECT_EQ(state_->length(0), before[0]);
    EXPECT_EQ(state_->length(1), before[1]);
  }

  test::TemporaryFolder folder_;
  std::filesystem::path path_ = folder_.path() / "p.gumbel";
  std::optional<RunningProgram> running_;
  std::optional<SessionState> state_;
  std::vector<int64_t> tokens_ = {1, 2, 3, 4};
  std::vector<int64_t> positions_ = {0, 1, 0, 1};
  DrawInputs draw_;
};

TEST_F(ExecutorTest, RefusesInputsOfOtherTypesAndShapes) {
  std::vector<Tensor> inputs = good();
  inputs.push_back(inputs.back());
  expect_refused(inputs, "forward: expected at most 7 inputs, got 8");
  inputs = good();
  inputs.resize(5);
  expect_refused(inputs, "forward: expected an input seed");
  expect_refused({}, "forward: expected an input tokens");
  inputs = good();
  inputs[0].type = DataType::kF32;
  expect_refused(inputs, "input tokens: expected i64 [B, T]");
  inputs = good();
  inputs[0].rank = 1;
  expect_refused(inputs, "input tokens: expected i64 [B, T]");
  inputs = good();
  inputs[1].dims = {2, 1};
  expect_refused(inputs,
                 "input input_pos: expected i64 [B, T] with B = 2 and T = 2, got i64 [2, 1]");
  inputs = good();
  inputs[1].dims = {1, 2};
  expect_refused(inputs, "input input_pos: expected i64 [B, T] with B = 2");
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, INT64_MIN}) {
    inputs = good();
    inputs[0].dims = {2, bad};
    expect_refused(inputs, "input tokens: expected i64 [B, T]");
    inputs[0].dims = {bad, 2};
    expect_refused(inputs, "input tokens: expected i64 [B, T]");
  }
  for (size_t i = 2; i < 7; ++i) {
    for (const int64_t dim : {0, 3, -1}) {
      inputs = good();
      inputs[i].dims = {dim};
      expect_refused(inputs, "[1 or B] with B = 2");
    }
    inputs = good();
    inputs[i].type = inputs[i].type == DataType::kF32 ? DataType::kI64 : DataType::kF32;
    expect_refused(inputs, "[1 or B] with B = 2");
  }
}

TEST_F(ExecutorTest, RefusesMoreThanItWasPlannedFor) {
  const std::vector<int64_t> numbers(51);
  std::vector<Tensor> inputs = good();
  inputs[0] = inputs[1] = matrix(numbers, 3);
  inputs[0].dims = inputs[1].dims = {3, 2};
  expect_refused(inputs, "expected at most 2 rows of 16 positions, got 3 of 2");
  inputs[0].dims = inputs[1].dims = {2, 17};
  expect_refused(inputs, "expected at most 2 rows of 16 positions, got 2 of 17");
}

TEST_F(ExecutorTest, RefusesTokensOutsideTheTable) {
  for (const int64_t bad : {int64_t{50}, int64_t{-1}, INT64_MAX, INT64_MIN}) {
    tokens_[3] = bad;
    expect_refused(good(), "forward: expected token ids from 0 to 49, got " + std::to_string(bad));
  }
}

TEST_F(ExecutorTest, RefusesPositionsThatAreNotNext) {
  positions_ = {0, 2, 0, 1};
  expect_refused(good(), "input_pos: expected 1 after 0, got 2");
  positions_ = {0, 1, 1, 2};
  expect_refused(good(), "input_pos: row 1 holds 0 positions, expected the next, got 1");
  positions_ = {-1, 0, 0, 1};
  expect_refused(good(), "input_pos: expected 2 positions within 0 to 63, got -1 as the first");
  positions_ = {63, 64, 0, 1};
  expect_refused(good(), "input_pos: expected 2 positions within 0 to 63, got 63 as the first");
  positions_ = {INT64_MAX, INT64_MIN, 0, 1};
  expect_refused(good(), "got 9223372036854775807 as the first");
}

TEST_F(ExecutorTest, RefusesAnotherSessionThanItsRows) {
  SessionState one = running_->new_state(1);
  const std::vector<Tensor> inputs = good();
  expect_error(ErrorCode::kInvalidArgument, "forward: expected 1 rows as the session has, got 2",
               [&] { running_->executor("forward").run(inputs, &one); });
  EXPECT_EQ(one.length(0), 0);
  expect_error(ErrorCode::kInvalidArgument, "forward: expected a session's state",
               [&] { running_->executor("forward").run(inputs, nullptr); });
}

// What a refusal must not do: store into the caches, or count positions.
TEST_F(ExecutorTest, ARefusalChangesNothing) {
  draw_.temperature = {0.0f};
  const std::vector<Tensor> first = good();
  running_->executor("forward").run(first, &*state_);
  const std::vector<int64_t> next = {5, 6};
  const auto run_next = [&](SessionState& state) {
    return running_->logits("forward_all", next, {2, 2}, state);
  };
  SessionState twin = running_->new_state(2);
  running_->executor("forward").run(first, &twin);
  const std::vector<float> expected = run_next(twin);

  positions_ = {2, 3, 2, 4};
  tokens_ = {9, 9, 9, 9};
  expect_refused(good(), "expected 3 after 2, got 4");
  tokens_ = {9, 9, 9, 50};
  positions_ = {0, 1, 0, 1};
  expect_refused(good(), "token ids");
  EXPECT_EQ(run_next(*state_), expected);
}

TEST_F(ExecutorTest, AnInputWithADefaultMayBeLeftOut) {
  draw_.temperature = {1.5f};
  draw_.min_p = {0.0f};
  for (int64_t seed = 0; seed < 20; ++seed) {
    draw_.seed = {seed};
    std::vector<Tensor> inputs = good();
    const Tensor with = running_->executor("forward").run(inputs, &*state_)[0];
    const std::vector<int64_t> expected(with.as<int64_t>(), with.as<int64_t>() + 2);
    inputs.pop_back();
    state_->reset();
    const Tensor without = running_->executor("forward").run(inputs, &*state_)[0];
    EXPECT_EQ(std::vector(without.as<int64_t>(), without.as<int64_t>() + 2), expected);
    state_->reset();
  }
}

TEST_F(ExecutorTest, ADefaultHasItsOwnValue) {
  Program program = running_->program();
  Method& forward = program.methods.front();
  forward.inputs.back().default_value = 1.0;  // min_p 1: greedy
  const ProgramFile file(path_);
  const auto backend = make_reference_backend();
  const Weights weights(file, *backend);
  Executor executor(program, forward, weights.all(), *backend, 2, 2);
  draw_.temperature = {0.0f};
  const Tensor greedy = running_->executor("forward").run(good(), &*state_)[0];
  const std::vector<int64_t> expected(greedy.as<int64_t>(), greedy.as<int64_t>() + 2);
  draw_.temperature = {2.0f};
  for (int64_t seed = 0; seed < 20; ++seed) {
    draw_.seed = {seed};
    std::vector<Tensor> inputs = good();
    inputs.pop_back();
    state_->reset();
    const Tensor token = executor.run(inputs, &*state_)[0];
    EXPECT_EQ(std::vector(token.as<int64_t>(), token.as<int64_t>() + 2), expected);
  }
}

TEST_F(ExecutorTest, PlansOnlyWhatTheCachesHaveRoomFor) {
  const ProgramFile file(path_);
  const auto backend = make_reference_backend();
  const Weights weights(file, *backend);
  const Method& method = file.program().methods.front();
  const auto plan = [&](int64_t batch, int64_t time) {
    Executor(file.program(), method, weights.all(), *backend, batch, time);
  };
  EXPECT_NO_THROW(plan(1, 16));
  for (const auto& [batch, time] : {std::pair{0, 1}, {1, 0}, {-1, 1}, {1, -1}, {1, 17}})
    expect_error(ErrorCode::kInvalidArgument, "method forward: expected a plan for",
                 [&] { plan(batch, time); });
}

}  // namespace
}  // namespace gumbel
