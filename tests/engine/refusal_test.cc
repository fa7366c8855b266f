// What engines and sessions refuse, and that a refusal changes nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/tiny_programs.h"
#include "program/program_file.h"
#include "runtime/backend.h"

namespace gumbel {
namespace {

using namespace test;
using Ids = std::vector<int64_t>;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

struct Refusal : testing::Test {
  TemporaryFolder folder;
  std::filesystem::path program = export_to(folder, "qwen3", checkpoint_path("qwen3").string(),
                                            {.sample = true, .max_sequence_length = 32});
};

TEST_F(Refusal, ParametersOutOfRange) {
  Engine engine(program, kOneThread);
  Session session = engine.create_session();
  const auto refused = [&](const char* name, const Sampling& sampling) {
    expect_error(ErrorCode::kInvalidArgument, name,
                 [&] { session.prefill(some_tokens(3), sampling); });
    EXPECT_EQ(session.position(), 0) << name;
  };
  const auto accepted = [&](const Sampling& sampling) {
    session.reset();
    session.prefill(some_tokens(3), sampling);
    session.decode(sampling);
    session.reset();
  };
  const auto above = [](float x) { return std::nextafter(x, INFINITY); };
  const auto below = [](float x) { return std::nextafter(x, -INFINITY); };
  for (const float t : {-1.0f, below(0), above(2), INFINITY, -INFINITY, kNan})
    refused("temperature", {.temperature = t});
  for (const float t : {0.0f, -0.0f, above(0), 1.0f, 2.0f}) accepted({.temperature = t});
  for (const float p : {0.0f, -0.5f, above(1), INFINITY, kNan}) refused("top_p", {.top_p = p});
  for (const float p : {above(0), 0.5f, 1.0f}) accepted({.top_p = p});
  for (const float p : {below(0), 1.0f, 2.0f, kNan}) refused("min_p", {.min_p = p});
  for (const float p : {0.0f, 0.5f, below(1)}) accepted({.min_p = p});
  for (const int64_t k : {int64_t{-1}, INT64_MIN}) refused("top_k", {.top_k = k});
  for (const int64_t k : {int64_t{0}, int64_t{1}, kTinyVocab, kTinyVocab + 1, INT64_MAX})
    accepted({.top_k = k});
  for (const int64_t seed : {int64_t{0}, int64_t{-1}, INT64_MIN, INT64_MAX})
    accepted({.seed = seed});

  session.prefill(some_tokens(3), kGreedy);
  expect_error(ErrorCode::kInvalidArgument, "top_p", [&] { session.decode({.top_p = 0}); });
  EXPECT_EQ(session.position(), 3);
  EXPECT_EQ(session.decode(kGreedy).id, drawn(engine, some_tokens(3), kGreedy, 2)[1]);
}

TEST_F(Refusal, PromptsThatDoNotFit) {
  Engine engine(program, kOneThread);
  Session session = engine.create_session();
  const auto refused = [&](const Ids& tokens, const char* part) {
    const int64_t before = session.position();
    expect_error(ErrorCode::kInvalidArgument, part, [&] { session.prefill(tokens, kGreedy); });
    EXPECT_EQ(session.position(), before);
  };
  refused(some_tokens(33), "at most 32 tokens");
  refused(some_tokens(1000), "at most 32 tokens");
  refused({}, "at least one token");
  refused({0, 1, kTinyVocab}, "0 to 319, got 320");
  refused({0, -1}, "got -1");
  refused({INT64_MIN}, "0 to 319");
  expect_error(ErrorCode::kInvalidArgument, "prefill first", [&] { session.decode(kGreedy); });
  EXPECT_EQ(session.statistics().prefill_tokens, 0);

  // One drawn token waits to be fed, so 11 fit beside 20 and no more.
  const Ids expected = drawn(engine, some_tokens(20), kGreedy, 3);
  EXPECT_EQ(session.prefill(some_tokens(20), kGreedy).id, expected[0]);
  refused(some_tokens(12), "at most 11 tokens");
  EXPECT_EQ(session.decode(kGreedy).id, expected[1]);
  EXPECT_EQ(session.decode(kGreedy).id, expected[2]);
  EXPECT_FALSE(session.prefill(some_tokens(8), kGreedy).terminal);
  EXPECT_EQ(session.remaining(), 1);
  EXPECT_TRUE(session.decode(kGreedy).terminal);
}

TEST_F(Refusal, AFullContext) {
  Engine engine(program, kOneThread);
  Session session = engine.create_session();
  const Token token = session.prefill(some_tokens(32), kGreedy);
  EXPECT_GE(token.id, 0);
  EXPECT_TRUE(token.terminal);
  EXPECT_FALSE(token.eos);
  EXPECT_EQ(session.remaining(), 0);
  for (int i = 0; i < 2; ++i) {
    expect_error(ErrorCode::kInvalidArgument, "context of 32 positions is full",
                 [&] { session.decode(kGreedy); });
    expect_error(ErrorCode::kInvalidArgument, "context of 32",
                 [&] { session.prefill(some_tokens(1), kGreedy); });
  }
  session.reset();
  EXPECT_FALSE(session.prefill(some_tokens(31), kGreedy).terminal);
  EXPECT_TRUE(session.decode(kGreedy).terminal);
}

TEST_F(Refusal, ProgramsThatReturnLogits) {
  const auto logits = export_to(folder, "logits", checkpoint_path("qwen3").string());
  Engine engine(logits, kOneThread);
  Session session = engine.create_session();
  for (const Sampling& sampling :
       {Sampling{}, Sampling{0.0f, 1, 1.0f, 0.0f, 0}, Sampling{0.0f, 0, 0.5f, 0.0f, 0},
        Sampling{0.0f, 0, 1.0f, 0.5f, 0}, Sampling{0.0f, 0, 1.0f, 0.0f, 1}}) {
    expect_error(ErrorCode::kUnsupported, "host sampling",
                 [&] { session.prefill(some_tokens(3), sampling); });
    EXPECT_EQ(session.position(), 0);
  }
  Engine sampled(program, kOneThread);
  EXPECT_EQ(drawn(session, some_tokens(9), kGreedy, 10),
            drawn(sampled, some_tokens(9), kGreedy, 10));
}

TEST_F(Refusal, MethodsOfAnotherSignature) {
  const auto refused = [&](const char* name, const char* part,
                           const std::function<void(Program&)>& edit) {
    const auto path = edited(folder, name, program, edit);
    expect_error(ErrorCode::kUnsupported, part, [&] { Engine engine(path); });
  };
  const auto method = [](Program& p, const char* name) -> Method& {
    for (Method& m : p.methods)
      if (m.name == name) return m;
    ADD_FAILURE() << name;
    return p.methods.front();
  };
  refused("none", "expected a method forward(",
          [&](Program& p) { method(p, "forward").name = "other"; });
  refused("logits", "returns f32 [B, 320]", [&](Program& p) { p.constants["use_sampling"] = {0}; });
  refused("name", "expected a method forward(", [&](Program& p) {
    Method& m = method(p, "forward");
    m.values[static_cast<size_t>(m.inputs[2].value)].name = "heat";
  });
  refused("more", "expected a method forward(", [&](Program& p) {
    Method& m = method(p, "forward");
    m.values.push_back({"bias", DataType::kF32, {kPerRow}});
    m.inputs.push_back({static_cast<int32_t>(m.values.size()) - 1, 0.0});
  });
  refused("outputs", "expected a method forward(", [&](Program& p) {
    Method& m = method(p, "forward");
    m.outputs.push_back(m.outputs[0]);
  });
  refused("prefill", "expected prefill(tokens, input_pos)", [&](Program& p) {
    Method& m = method(p, "prefill");
    m.outputs.push_back(m.inputs[0].value);
  });
  refused("stateless", "that keeps state", [&](Program& p) {
    Method& m = method(p, "forward");
    std::erase_if(m.nodes, [](const Node& node) { return node.op == Op::kCacheUpdate; });
  });
}

TEST_F(Refusal, FilesThatAreNoPrograms) {
  expect_error(ErrorCode::kIo, "nowhere.gumbel",
               [&] { Engine e(folder.path() / "nowhere.gumbel"); });
  expect_error(ErrorCode::kIo, "regular file", [&] { Engine e(folder.path()); });
  expect_error(ErrorCode::kCorruptFile, "empty", [&] { Engine e(folder.write("empty", "")); });
  expect_error(ErrorCode::kCorruptFile, "garbage",
               [&] { Engine e(folder.write("garbage", std::string(10000, 'x'))); });
  const std::string bytes = read_file(program);
  for (const size_t length : {size_t{1}, size_t{8}, size_t{40}, size_t{500}, bytes.size() / 2,
                              bytes.size() - 4096, bytes.size() - 1})
    expect_error(ErrorCode::kCorruptFile, "cut",
                 [&] { Engine e(folder.write("cut", std::string_view(bytes).substr(0, length))); });
  for (size_t at = 0; at < 4000; at += 37) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    const auto path = folder.write("damaged", damaged);
    succeeds_or_refuses([&] { Engine e(path); });
  }
  expect_error(ErrorCode::kUnsupported, "cpu, reference",
               [&] { Engine e(program, {.backend = "abacus"}); });
  for (const int threads : {-1, 1000000})
    expect_error(ErrorCode::kInvalidArgument, "threads",
                 [&] { Engine e(program, {.threads = threads}); });
}

TEST_F(Refusal, TextWithoutATokenizer) {
  Engine engine(program, kOneThread);
  const std::vector<Message> chat = {{"user", "hello"}};
  expect_error(ErrorCode::kUnsupported, "tokenizer", [&] { engine.encode("hello"); });
  expect_error(ErrorCode::kUnsupported, "carries no", [&] { engine.encode_chat(chat); });
  expect_error(ErrorCode::kUnsupported, "carries no", [&] { engine.encode_reply("hello", 1); });
  expect_error(ErrorCode::kUnsupported, "tokenizer", [&] { engine.decode(Ids{1, 2}); });
  Session session = engine.create_session();
  EXPECT_EQ(session.prefill(some_tokens(4), kGreedy).text, "");
  Engine text(export_to(folder, "text", write_tiny_folder(folder.path(), "qwen3", false).string()));
  expect_error(ErrorCode::kUnsupported, "chat template", [&] { text.encode_chat(chat); });
  expect_error(ErrorCode::kUnsupported, "chat template", [&] { text.encode_reply("hello", 1); });
}

// A copy of `program` where the embedding of `token`, in bfloat16, is NaN; an export would refuse
// it.
std::filesystem::path poisoned(const TemporaryFolder& folder, const std::filesystem::path& program,
                               int64_t token) {
  const ProgramFile source(program);
  const auto backend = make_backend("cpu", 1);
  const auto path = folder.path() / "poisoned.gumbel";
  ProgramWriter writer(path, source.program());
  for (size_t i = 0; i < source.program().weights.size(); ++i) {
    const WeightInfo& weight = source.program().weights[i];
    const auto bytes = source.weight_bytes(i);
    if (weight.name != "model.embed_tokens.weight") {
      writer.append(bytes);
      continue;
    }
    WeightRows rows;
    backend->unpack({weight.type, 1, weight.rows(), weight.columns(), false, bytes.data()}, 0,
                    weight.rows(), rows);
    std::fill_n(rows.halves.begin() + token * rows.columns, rows.columns, uint16_t{0x7FC0});
    std::vector<std::byte> packed(bytes.size());
    backend->pack(rows, packed);
    writer.append(packed);
  }
  writer.finish();
  return path;
}

TEST_F(Refusal, LogitsThatAreNaN) {
  constexpr int64_t kPoison = 17;
  // llama's head is a matrix of its own, so only positions that saw the token are poisoned.
  for (const bool sample : {true, false}) {
    const auto llama =
        export_to(folder, "llama", checkpoint_path("llama").string(), {.sample = sample});
    Engine engine(poisoned(folder, llama, kPoison), {.threads = 1, .host_sampling = !sample});
    Session healthy = engine.create_session();
    Session session = engine.create_session();
    Ids prompt(20, 3);
    const Ids expected = drawn(healthy, prompt, kGreedy, 4);
    prompt[11] = kPoison;
    for (const Sampling& sampling : {kGreedy, Sampling{1.0f, 0, 0.9f, 0.1f, 3}}) {
      session.reset();
      expect_error(ErrorCode::kNumeric, "position 20", [&] { session.prefill(prompt, sampling); });
      expect_error(ErrorCode::kFailedState, "position 20", [&] { session.decode(sampling); });
      expect_error(ErrorCode::kFailedState, "reset", [&] { session.prefill(prompt, sampling); });
    }
    // Other sessions go on, and a reset one has no NaN left in its caches.
    EXPECT_GE(healthy.decode(kGreedy).id, 0);
    session.reset();
    EXPECT_EQ(drawn(session, Ids(20, 3), kGreedy, 4), expected);
  }
}

}  // namespace
}  // namespace gumbel
