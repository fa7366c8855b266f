#include "runtime/session_state.h"

#include <numeric>
#include <random>

#include "backends/reference/reference_backend.h"
#include "export/test_files.h"
#include "program/tiny_program.h"
#include "runtime/running_program.h"

namespace gumbel {
namespace {

using test::expect_error;
using test::RunningProgram;
using test::TemporaryFolder;
using test::TinyModel;

std::vector<int64_t> random_tokens(int64_t count, int64_t vocab, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> tokens(static_cast<size_t>(count));
  for (int64_t& token : tokens)
    token = static_cast<int64_t>(random() % static_cast<uint64_t>(vocab));
  return tokens;
}

// Window 8, chunks up to 8: 16 slots.
TinyModel windowed() {
  TinyModel model;
  model.window = 8;
  model.max_chunk = 8;
  return model;
}

RunningProgram load(const TemporaryFolder& folder, const TinyModel& model) {
  const auto path = folder.path() / "p.gumbel";
  test::write_tiny_program(path, model, *make_reference_backend());
  return RunningProgram(path, make_reference_backend(), 3);
}

TEST(SessionState, CachesHaveTheirSizes) {
  const TemporaryFolder folder;
  const RunningProgram p = load(folder, windowed());
  EXPECT_EQ(kv_cache_shape(p.program(), 0, 3).capacity, 64);
  const KvCache ring = kv_cache_shape(p.program(), 1, 3);
  EXPECT_EQ(ring.capacity, 16);
  EXPECT_EQ(ring.batch, 3);
  // Keys and values of 2 heads of 16 f32 in 64 + 16 slots for 3 rows.
  EXPECT_EQ(session_state_bytes(p.program(), 3), 2u * 2 * 16 * 4 * (64 + 16) * 3);
  SessionState state = p.new_state(3);
  EXPECT_EQ(state.batch(), 3);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(state.cache(i).keys) % 64, 0u);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(state.cache(i).values) % 64, 0u);
  }
}

TEST(SessionState, TheNextPositionIsTheLength) {
  const TemporaryFolder folder;
  const RunningProgram p = load(folder, {});
  SessionState state = p.new_state(2);
  state.check_position(0, 0);
  expect_error(ErrorCode::kInvalidArgument, "row 0 holds 0 positions, expected the next, got 1",
               [&] { state.check_position(0, 1); });
  state.extend(0, 0, 10);
  EXPECT_EQ(state.length(0), 10);
  EXPECT_EQ(state.length(1), 0);
  state.check_position(0, 10);
  state.check_position(0, 3);  // whole caches: any step back
  expect_error(ErrorCode::kInvalidArgument, "row 0 holds 10", [&] { state.check_position(0, 11); });
  expect_error(ErrorCode::kInvalidArgument, "row 1 holds 0", [&] { state.check_position(1, 1); });
  state.reset();
  EXPECT_EQ(state.length(0), 0);
  state.check_position(0, 0);
}

TEST(SessionState, ARingStepsBackOnlyToWhatItStillHolds) {
  const TemporaryFolder folder;
  const RunningProgram p = load(folder, windowed());
  SessionState state = p.new_state(1);
  for (int64_t at = 0; at < 40; at += 8) state.extend(0, at, 8);
  // 16 slots hold positions 24 to 39; a query at 32 sees 25 on.
  state.check_position(0, 32);
  expect_error(ErrorCode::kInvalidArgument, "has held 40 positions and can step back to 32 or to 0",
               [&] { state.check_position(0, 31); });
  state.extend(0, 32, 1);
  // Stepping back in small steps does not bring back what was overwritten.
  expect_error(ErrorCode::kInvalidArgument, "has held 40", [&] { state.check_position(0, 31); });
  state.check_position(0, 33);
  state.check_position(0, 0);  // a new beginning
  state.extend(0, 0, 2);
  state.check_position(0, 1);
  EXPECT_EQ(state.length(0), 2);
}

TEST(SessionState, RingsAndChunksGiveTheLogitsOfAWholeCache) {
  const TemporaryFolder folder;
  TinyModel model = windowed();
  model.max_chunk = 16;  // 24 slots, rounded to 32, below 40 tokens
  const std::vector<int64_t> tokens = random_tokens(40, model.vocab, 5);
  RunningProgram ring = load(folder, model);
  ASSERT_LT(kv_cache_shape(ring.program(), 1, 1).capacity, 40);
  const std::vector<float> expected = ring.all_logits(tokens, 1);
  EXPECT_EQ(ring.all_logits(tokens, 8), expected);
  EXPECT_EQ(ring.all_logits(tokens, 16), expected);
  EXPECT_EQ(ring.all_logits(tokens, 5), expected);
  // A maximum chunk of the whole context makes the cache whole: no slot is used twice.
  const TemporaryFolder other;
  model.max_chunk = 64;
  RunningProgram whole = load(other, model);
  ASSERT_EQ(kv_cache_shape(whole.program(), 1, 1).capacity, 64);
  EXPECT_EQ(whole.all_logits(tokens, 40), expected);
  // The window matters: without it the logits are others from position 8 on, and only there.
  const TemporaryFolder third;
  model.window = 0;
  const std::vector<float> full = load(third, model).all_logits(tokens, 40);
  const auto vocab = static_cast<size_t>(model.vocab);
  EXPECT_TRUE(
      std::equal(full.begin(), full.begin() + static_cast<int64_t>(8 * vocab), expected.begin()));
  EXPECT_NE(std::vector(full.begin() + static_cast<int64_t>(8 * vocab), full.end()),
            std::vector(expected.begin() + static_cast<int64_t>(8 * vocab), expected.end()));
}

TEST(SessionState, SteppingBackGivesTheLogitsOfAFreshSession) {
  const TemporaryFolder folder;
  const TinyModel model = windowed();
  RunningProgram p = load(folder, model);
  const std::vector<int64_t> tokens = random_tokens(40, model.vocab, 6);
  std::vector<int64_t> other = tokens;
  for (size_t i = 32; i < 40; ++i) other[i] = (other[i] + 1) % model.vocab;
  SessionState state = p.new_state(1);
  const auto feed = [&](const std::vector<int64_t>& text, int64_t first, int64_t count) {
    return p.logits("forward_all", {text.begin() + first, text.begin() + first + count}, {first},
                    state);
  };
  for (int64_t at = 0; at < 40; at += 8) feed(tokens, at, 8);
  const std::vector<float> again = feed(other, 32, 8);
  const std::vector<float> fresh = p.all_logits(other, 8);
  EXPECT_TRUE(std::equal(again.begin(), again.end(), fresh.end() - std::ssize(again)));
}

TEST(SessionState, RecurrentStatesHaveTheirSizesAndAreNotStepped) {
  const TemporaryFolder folder;
  TinyModel model;
  model.hybrid = true;
  const RunningProgram p = load(folder, model);
  SessionState state = p.new_state(2);
  ASSERT_EQ(p.program().recurrent_states.size(), 2u);
  const RecurrentState& conv = state.recurrent(0);
  EXPECT_EQ(conv.batch, 2);
  EXPECT_EQ(conv.elements, 2 * 64);  // two positions of 4 * 16 channels
  EXPECT_EQ(state.recurrent(1).elements, 2 * 16 * 16);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(state.recurrent(1).data) % 64, 0u);
  // Beside them the caches: keys and values of 2 heads of 16 f32 in 64 slots, of two layers.
  EXPECT_EQ(session_state_bytes(p.program(), 2),
            2u * 4 * (2 * 64 + 2 * 16 * 16) + 2u * 2 * 2 * 2 * 16 * 4 * 64);
  state.extend(0, 0, 10);
  state.check_position(0, 10);
  state.check_position(0, 0);
  expect_error(ErrorCode::kInvalidArgument, "can step back to 10 or to 0, got 9",
               [&] { state.check_position(0, 9); });
}

TEST(SessionState, ARecurrentSessionGivesTheSameLogitsAfterAReset) {
  const TemporaryFolder folder;
  TinyModel model;
  model.hybrid = true;
  RunningProgram p = load(folder, model);
  const std::vector<int64_t> tokens = random_tokens(20, model.vocab, 8);
  SessionState state = p.new_state(1);
  const std::vector<int64_t> head(tokens.begin(), tokens.begin() + 12);
  const std::vector<float> fresh = p.logits("forward_all", head, {0}, state);
  p.logits("forward_all", {tokens.begin() + 12, tokens.end()}, {12}, state);
  state.reset();
  EXPECT_EQ(p.logits("forward_all", head, {0}, state), fresh);
  // Position 0 alone begins anew too.
  EXPECT_EQ(p.logits("forward_all", head, {0}, state), fresh);
}

TEST(SessionState, ABranchGoesOnByItself) {
  const TemporaryFolder folder;
  for (const bool hybrid : {false, true}) {
    TinyModel model = windowed();
    model.hybrid = hybrid;
    RunningProgram p = load(folder, model);
    const std::vector<int64_t> tokens = random_tokens(30, model.vocab, 9);
    const std::vector<int64_t> others = random_tokens(30, model.vocab, 10);
    const auto feed = [&](const std::vector<int64_t>& text, int64_t first, int64_t count,
                          SessionState& state) {
      return p.logits("forward_all", {text.begin() + first, text.begin() + first + count}, {first},
                      state);
    };
    SessionState state = p.new_state(1);
    for (int64_t at = 0; at < 20; at += 5) feed(tokens, at, 5, state);
    SessionState branch = state.branch();
    EXPECT_EQ(branch.length(0), 20);
    // In turns, so that each would see what the other stored.
    std::vector<float> of_branch, of_state;
    for (int64_t at = 20; at < 30; at += 5) {
      of_branch = feed(others, at, 5, branch);
      of_state = feed(tokens, at, 5, state);
    }
    std::vector<int64_t> joined(tokens.begin(), tokens.begin() + 20);
    joined.insert(joined.end(), others.begin() + 20, others.end());
    const std::vector<float> whole = p.all_logits(tokens, 5);
    const std::vector<float> whole_branch = p.all_logits(joined, 5);
    EXPECT_TRUE(std::equal(of_state.begin(), of_state.end(), whole.end() - std::ssize(of_state)));
    EXPECT_TRUE(
        std::equal(of_branch.begin(), of_branch.end(), whole_branch.end() - std::ssize(of_branch)));
    EXPECT_NE(of_state, of_branch);
  }
}

}  // namespace
}  // namespace gumbel
