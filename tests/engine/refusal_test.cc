// What engines and sessions refuse, and that a refusal changes nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "engine/tiny_programs.h"

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
  refused("stateless", "key-value caches", [&](Program& p) {
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
  expect_error(ErrorCode::kUnsupported, "chat format", [&] { text.encode_chat(chat); });
  expect_error(ErrorCode::kUnsupported, "chat format", [&] { text.encode_reply("hello", 1); });
}

// A checkpoint whose embedding of one token is NaN.
class PoisonedTensor : public CheckpointTensor {
 public:
  PoisonedTensor(const CheckpointTensor& source, int64_t row) : source_(source), row_(row) {}
  WeightType type() const override { return source_.type(); }
  const std::vector<int64_t>& shape() const override { return source_.shape(); }
  void read_rows(int64_t first, int64_t count, WeightRows& out) const override {
    source_.read_rows(first, count, out);
    if (row_ < first || row_ >= first + count) return;
    for (int64_t column = 0; column < out.columns; ++column)
      out.halves[static_cast<size_t>((row_ - first) * out.columns + column)] = 0x7FC0;
  }

 private:
  const CheckpointTensor& source_;
  int64_t row_;
};

class PoisonedCheckpoint : public Checkpoint {
 public:
  PoisonedCheckpoint(std::unique_ptr<Checkpoint> source, int64_t row)
      : source_(std::move(source)), row_(row) {}
  bool has(std::string_view name) const override { return source_->has(name); }
  const CheckpointTensor& tensor(std::string_view name,
                                 const std::vector<int64_t>& shape) const override {
    const CheckpointTensor& tensor = source_->tensor(name, shape);
    if (name != "model.embed_tokens.weight") return tensor;
    if (!poisoned_) poisoned_ = std::make_unique<PoisonedTensor>(tensor, row_);
    return *poisoned_;
  }

 private:
  std::unique_ptr<Checkpoint> source_;
  int64_t row_;
  mutable std::unique_ptr<PoisonedTensor> poisoned_;
};

TEST_F(Refusal, LogitsThatAreNaN) {
  constexpr int64_t kPoison = 17;
  // llama's head is a matrix of its own, so only positions that saw the token are poisoned.
  for (const bool sample : {true, false}) {
    ImportedModel model = import_model(checkpoint_path("llama").string());
    model.weights = std::make_unique<PoisonedCheckpoint>(std::move(model.weights), kPoison);
    const auto path = folder.path() / "poisoned.gumbel";
    export_program(model, {.sample = sample}, *make_backend("cpu", 1), path);
    Engine engine(path, {.threads = 1, .host_sampling = !sample});
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
