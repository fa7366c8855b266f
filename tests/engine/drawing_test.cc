// Drawing: seeds, ends of turns, and the same tokens on the host as in the program.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/tiny_programs.h"

namespace gumbel {
namespace {

using namespace test;
using Ids = std::vector<int64_t>;

struct Drawing : testing::Test {
  TemporaryFolder folder;
  std::filesystem::path program =
      export_to(folder, "gemma3", checkpoint_path("gemma3").string(), {.sample = true});
};

TEST_F(Drawing, HostSamplingDrawsTheSameTokens) {
  Engine sampled(program, kOneThread);
  const auto logits = export_to(folder, "logits", checkpoint_path("gemma3").string());
  Engine host(logits, {.threads = 1, .host_sampling = true});
  Engine reference(logits, {.backend = "reference", .host_sampling = true});
  std::set<Ids> all;
  for (const Sampling& sampling :
       {kGreedy, Sampling{}, Sampling{2.0f, 0, 1.0f, 0.0f, 5}, Sampling{1.0f, 3, 1.0f, 0.0f, 5},
        Sampling{1.5f, 0, 0.7f, 0.0f, -9}, Sampling{2.0f, 0, 1.0f, 0.2f, INT64_MIN},
        Sampling{1.7f, 100, 0.9f, 0.01f, 1}}) {
    const Ids expected = drawn(sampled, some_tokens(30), sampling, 40);
    all.insert(expected);
    EXPECT_EQ(drawn(host, some_tokens(30), sampling, 40), expected);
    EXPECT_EQ(drawn(reference, some_tokens(30), sampling, 10),
              Ids(expected.begin(), expected.begin() + 10));
  }
  EXPECT_EQ(all.size(), 7u);
  const Statistics none;
  Session session = host.create_session();
  session.prefill(some_tokens(3), Sampling{});
  EXPECT_GT(session.statistics().sampling_seconds, none.sampling_seconds);
}

TEST_F(Drawing, SeedsDecideTheTokens) {
  Engine engine(program, kOneThread);
  const auto with_seed = [&](int64_t seed) {
    return drawn(engine, some_tokens(10), {2.0f, 0, 1.0f, 0.0f, seed}, 40);
  };
  std::set<Ids> different;
  const std::vector<int64_t> seeds = {0,        1, 2, -1, int64_t{1} << 31, (int64_t{1} << 32) + 1,
                                      INT64_MIN};
  for (const int64_t seed : seeds) {
    const Ids ids = with_seed(seed);
    EXPECT_EQ(with_seed(seed), ids) << seed;
    different.insert(ids);
  }
  EXPECT_EQ(different.size(), seeds.size());
}

TEST_F(Drawing, ParametersMayChangeBetweenTokens) {
  Engine engine(program, kOneThread);
  const Sampling hot{2.0f, 0, 1.0f, 0.0f, 1};
  Session session = engine.create_session();
  Ids tokens = some_tokens(10);
  for (int i = 0; i < 12; ++i) {
    const Sampling& sampling = i % 2 == 0 ? kGreedy : hot;
    const int64_t token =
        i == 0 ? session.prefill(tokens, sampling).id : session.decode(sampling).id;
    EXPECT_EQ(drawn(engine, tokens, sampling, 1), Ids{token}) << i;
    tokens.push_back(token);
  }
}

TEST_F(Drawing, EveryEndOfTurnIdEndsTheTurn) {
  const Sampling sampling{2.0f, 0, 1.0f, 0.0f, 4};
  Engine plain(program, kOneThread);
  const Ids ids = drawn(plain, some_tokens(10), sampling, 40);
  std::set<int64_t> ends = {ids[3], ids[11], ids[25]};
  ASSERT_EQ(ends.size(), 3u);
  Engine engine(
      edited(folder, "eos", program,
             [&](Program& p) { p.constants["get_eos_ids"] = {ends.begin(), ends.end()}; }),
      kOneThread);
  EXPECT_EQ(engine.info().eos_ids, Ids(ends.begin(), ends.end()));
  Session session = engine.create_session();
  std::set<int64_t> seen;
  for (size_t i = 0; i < ids.size(); ++i) {
    const Token token =
        i == 0 ? session.prefill(some_tokens(10), sampling) : session.decode(sampling);
    EXPECT_EQ(token.id, ids[i]) << i;
    EXPECT_EQ(token.eos, ends.contains(token.id)) << i;
    EXPECT_EQ(token.terminal, token.eos) << i;
    if (token.eos) seen.insert(token.id);
  }
  EXPECT_EQ(seen, ends);
}

}  // namespace
}  // namespace gumbel
