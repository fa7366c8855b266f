// Sessions: what they draw does not depend on how the prompt was cut, on other sessions, on threads
// or on having been stopped.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "engine/tiny_programs.h"

namespace gumbel {
namespace {

using namespace test;
using Ids = std::vector<int64_t>;

constexpr Sampling kSampled{1.0f, 40, 0.95f, 0.01f, 7};

// A model of each kind of state: rings beside whole caches, caches that layers share, recurrent
// states beside whole caches.
constexpr const char* kStates[] = {"gemma3", "gemma4_e2b", "qwen3_5_moe"};

struct SessionTest : testing::Test {
  TemporaryFolder folder;
  std::filesystem::path sampled(const std::string& model) {
    return export_to(folder, model, checkpoint_path(model).string(), {.sample = true});
  }
};

TEST_F(SessionTest, ChunksDoNotMatter) {
  for (const char* model :
       {"gemma3", "qwen3", "gemma4", "gemma4_moe", "gemma4_e2b", "qwen3_5_moe"}) {
    const auto program = sampled(model);
    Engine one_by_one(with_chunks(folder, program, 1, 1), kOneThread);
    for (const size_t length : {1u, 15u, 150u, 201u}) {
      const Ids prompt = some_tokens(length);
      const Ids expected = drawn(one_by_one, prompt, kSampled, 20);
      ASSERT_EQ(expected.size(), 20u);
      for (const auto& [least, most] :
           std::vector<std::pair<int, int>>{{1, 128}, {1, 7}, {16, 16}, {100, 128}, {30, 41}}) {
        Engine engine(with_chunks(folder, program, least, most), kOneThread);
        EXPECT_EQ(drawn(engine, prompt, kSampled, 20), expected)
            << model << ", " << length << " tokens in chunks of " << least << " to " << most;
      }
    }
  }
}

TEST_F(SessionTest, PrefillMethodIsOnlyAShortcut) {
  for (const char* model : kStates) {
    const auto program = with_chunks(folder, sampled(model), 1, 32);
    const auto plain = edited(folder, std::string("plain-") + model, program, [](Program& p) {
      ASSERT_EQ(std::erase_if(p.methods, [](const Method& m) { return m.name == "prefill"; }), 1u);
    });
    Engine with(program, kOneThread);
    Engine without(plain, kOneThread);
    const Ids prompt = some_tokens(130);
    EXPECT_EQ(drawn(with, prompt, kSampled, 20), drawn(without, prompt, kSampled, 20)) << model;
  }
}

TEST_F(SessionTest, SecondPromptContinuesTheFirst) {
  Engine engine(sampled("qwen3"), kOneThread);
  Session session = engine.create_session();
  const Ids answer = drawn(session, some_tokens(30), kSampled, 10);
  EXPECT_EQ(session.position(), 39);
  EXPECT_EQ(session.last_token(), answer.back());
  const Ids more = some_tokens(12, 2);
  const Token token = session.prefill(more, kSampled);
  EXPECT_EQ(session.position(), 52);
  Ids whole = some_tokens(30);
  whole.insert(whole.end(), answer.begin(), answer.end());
  whole.insert(whole.end(), more.begin(), more.end());
  EXPECT_EQ(drawn(engine, whole, kSampled, 1), Ids{token.id});
}

TEST_F(SessionTest, InterleavedSessionsEqualSoloRuns) {
  for (const char* model : kStates) {
    Engine engine(sampled(model), kOneThread);
    const Ids a = some_tokens(60, 1);
    const Ids b = some_tokens(33, 2);
    const Sampling hot{1.5f, 0, 1.0f, 0.0f, 99};
    const Ids solo_a = drawn(engine, a, kSampled, 30);
    const Ids solo_b = drawn(engine, b, hot, 30);
    EXPECT_NE(solo_a, solo_b);
    Session session_a = engine.create_session();
    Session session_b = engine.create_session();
    Ids ids_a = {session_a.prefill(a, kSampled).id};
    Ids ids_b = {session_b.prefill(b, hot).id};
    while (ids_a.size() < 30) {
      ids_a.push_back(session_a.decode(kSampled).id);
      ids_b.push_back(session_b.decode(hot).id);
    }
    EXPECT_EQ(ids_a, solo_a) << model;
    EXPECT_EQ(ids_b, solo_b) << model;
  }
}

TEST_F(SessionTest, ABranchGoesOnByItself) {
  for (const char* model : kStates) {
    Engine engine(sampled(model), kOneThread);
    const Ids prompt = some_tokens(40, 1);
    const Sampling other{1.5f, 0, 1.0f, 0.0f, 99};
    const Ids expected = drawn(engine, prompt, kSampled, 30);
    Session session = engine.create_session();
    Ids ids = drawn(session, prompt, kSampled, 10);
    Session branch = session.branch();
    EXPECT_EQ(branch.position(), session.position());
    EXPECT_EQ(branch.last_token(), ids.back());
    EXPECT_EQ(branch.statistics().decode_tokens, 0);
    Ids of_branch;
    while (ids.size() < 30) {
      of_branch.push_back(branch.decode(other).id);
      ids.push_back(session.decode(kSampled).id);
    }
    EXPECT_EQ(ids, expected) << model;
    // What the branch draws is what a session draws that was fed the same.
    Session again = engine.create_session();
    drawn(again, prompt, kSampled, 10);
    for (const int64_t id : of_branch) EXPECT_EQ(again.decode(other).id, id) << model;
  }
}

TEST_F(SessionTest, SessionsOfOneEngineRunFromTwoThreads) {
  Engine engine(sampled("gemma3"), {.threads = 2});
  constexpr int kThreads = 2;
  Ids expected[kThreads];
  for (int i = 0; i < kThreads; ++i)
    expected[i] = drawn(engine, some_tokens(50, static_cast<uint64_t>(i)), kSampled, 30);
  Ids found[kThreads];
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      Session session = engine.create_session();
      for (int repeat = 0; repeat < 2; ++repeat) {
        session.reset();
        found[i] = drawn(session, some_tokens(50, static_cast<uint64_t>(i)), kSampled, 30);
      }
    });
  for (std::thread& thread : threads) thread.join();
  for (int i = 0; i < kThreads; ++i) EXPECT_EQ(found[i], expected[i]) << "thread " << i;
}

TEST_F(SessionTest, ResetForgetsEverything) {
  for (const char* model : kStates) {
    Engine engine(sampled(model), kOneThread);
    Session session = engine.create_session();
    const Ids expected = drawn(session, some_tokens(40), kSampled, 20);
    drawn(session, some_tokens(90, 5), kGreedy, 20);
    session.reset();
    EXPECT_EQ(session.position(), 0);
    EXPECT_EQ(session.last_token(), -1);
    EXPECT_EQ(session.remaining(), engine.info().max_sequence_length);
    EXPECT_EQ(drawn(session, some_tokens(40), kSampled, 20), expected) << model;
  }
}

TEST_F(SessionTest, EnginesAndSessionsMove) {
  Engine first(sampled("llama"), kOneThread);
  const Ids expected = drawn(first, some_tokens(9), kSampled, 9);
  Session session = first.create_session();
  session.prefill(some_tokens(9), kSampled);
  Engine engine = std::move(first);
  Session moved = std::move(session);
  EXPECT_EQ(moved.decode(kSampled).id, expected[1]);
}

TEST_F(SessionTest, StopBeforeACallEndsThatCallAlone) {
  Engine engine(sampled("qwen3"), kOneThread);
  const Ids expected = drawn(engine, some_tokens(20), kSampled, 5);
  Session session = engine.create_session();
  session.stop();
  const Token stopped = session.prefill(some_tokens(20), kSampled);
  EXPECT_EQ(stopped.id, -1);
  EXPECT_TRUE(stopped.terminal);
  EXPECT_FALSE(stopped.eos);
  EXPECT_EQ(session.position(), 0);
  Ids ids = {session.prefill(some_tokens(20), kSampled).id};
  ids.push_back(session.decode(kSampled).id);
  session.stop();
  EXPECT_EQ(session.decode(kSampled).id, -1);
  EXPECT_EQ(session.position(), 21);
  while (ids.size() < 5) ids.push_back(session.decode(kSampled).id);
  EXPECT_EQ(ids, expected);
  session.stop();
  session.reset();
  EXPECT_EQ(session.prefill(some_tokens(20), kSampled).id, expected[0]);
}

TEST_F(SessionTest, StopDuringPrefillKeepsWhatWasFed) {
  constexpr int64_t kLength = 2000;
  const auto program = with_chunks(
      folder, export_to(folder, "long", long_context_source(folder, 2048), {.sample = true}), 1, 1);
  Engine engine(program, kOneThread);
  const Ids start = {1, 2};
  const Ids prompt = some_tokens(kLength);
  Session session = engine.create_session();
  // Two positions, then the token drawn there, then the prompt.
  Ids whole = {1, 2, session.prefill(start, kSampled).id};
  whole.insert(whole.end(), prompt.begin(), prompt.end());
  bool stopped_within = false;
  for (int attempt = 0; attempt < 20 && !stopped_within; ++attempt) {
    session.reset();
    session.prefill(start, kSampled);
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      session.stop();
    });
    const Token token = session.prefill(prompt, kSampled);
    stopper.join();
    stopped_within = token.id == -1 && session.position() > 3;
    if (stopped_within) {
      EXPECT_TRUE(token.terminal);
    }
  }
  ASSERT_TRUE(stopped_within);
  ASSERT_LT(session.position(), static_cast<int64_t>(whole.size()));
  EXPECT_EQ(session.last_token(), -1);
  const Ids rest(whole.begin() + session.position(), whole.end());
  EXPECT_EQ(drawn(session, rest, kSampled, 5), drawn(engine, whole, kSampled, 5));
}

TEST_F(SessionTest, StopDuringDecodeLosesNoToken) {
  Engine engine(export_to(folder, "long", long_context_source(folder, 4096), {.sample = true}),
                kOneThread);
  Session session = engine.create_session();
  std::atomic<size_t> count = 0;
  std::thread stopper([&] {
    while (count < 5) std::this_thread::yield();
    session.stop();
  });
  Ids ids = {session.prefill(some_tokens(3), kSampled).id};
  while (session.remaining() > 0) {
    const Token token = session.decode(kSampled);
    if (token.id < 0) {
      EXPECT_TRUE(token.terminal);
      break;
    }
    ids.push_back(token.id);
    count = ids.size();
  }
  stopper.join();
  ASSERT_GT(session.remaining(), 0);
  for (int i = 0; i < 5 && session.remaining() > 0; ++i) ids.push_back(session.decode(kSampled).id);
  EXPECT_EQ(ids, drawn(engine, some_tokens(3), kSampled, ids.size()));
}

TEST_F(SessionTest, StatisticsAddUp) {
  Engine engine(sampled("qwen3"), kOneThread);
  Session session = engine.create_session();
  Session other = engine.create_session();
  drawn(session, some_tokens(20), kSampled, 6);
  session.prefill(some_tokens(10), kSampled);  // after the last drawn token
  const Statistics s = session.statistics();
  EXPECT_EQ(s.prefill_tokens, 31);
  EXPECT_EQ(s.decode_tokens, 5);
  EXPECT_EQ(session.position(), s.prefill_tokens + s.decode_tokens);
  EXPECT_GT(s.prefill_seconds, 0);
  EXPECT_GT(s.decode_seconds, 0);
  EXPECT_GT(s.sampling_seconds, 0);
  EXPECT_LE(s.sampling_seconds, s.prefill_seconds + s.decode_seconds);
  EXPECT_EQ(other.statistics().prefill_tokens, 0);
  session.stop();
  session.decode(kSampled);
  EXPECT_EQ(session.statistics().decode_tokens, 5);
  session.reset();
  EXPECT_EQ(session.statistics().prefill_tokens, 0);
  EXPECT_EQ(session.statistics().decode_tokens, 0);
  EXPECT_EQ(session.statistics().prefill_seconds, 0);
  EXPECT_EQ(session.statistics().sampling_seconds, 0);
}

TEST_F(SessionTest, TheProgramSaysWhatItIs) {
  Engine engine(sampled("gemma3"), kOneThread);
  const ModelInfo& info = engine.info();
  EXPECT_EQ(info.max_sequence_length, 256);
  EXPECT_EQ(info.vocab_size, kTinyVocab);
  EXPECT_EQ(info.layers, 7);
  EXPECT_EQ(info.min_prefill_chunk, 1);
  EXPECT_EQ(info.max_prefill_chunk, 128);
  EXPECT_TRUE(info.use_sampling);
  EXPECT_FALSE(info.has_tokenizer);
  EXPECT_FALSE(info.has_chat_template);
  EXPECT_EQ(info.provenance.at("source"), "gemma3");
  // Six sliding layers of 16 + 128 positions and a full one of 256; one head of 32 keys and 32
  // values in f32.
  EXPECT_EQ(engine.session_bytes(), uint64_t{(6 * 144 + 256) * 2 * 32 * 4});
  EXPECT_GT(engine.serving_capacity(), 1);
  EXPECT_GT(engine.load_seconds(), 0);
  EXPECT_FALSE(
      Engine(export_to(folder, "logits", checkpoint_path("gemma3").string())).info().use_sampling);
}

}  // namespace
}  // namespace gumbel
