#include "export/graph/sampling_head.h"

#include <fmt/format.h>

#include <random>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "export/random_checkpoint.h"
#include "export/test_files.h"
#include "program/program_file.h"
#include "program/tiny_program.h"
#include "runtime/executor.h"
#include "runtime/running_program.h"
#include "runtime/weights.h"
#include "sampling/sampler.h"

namespace gumbel {
namespace {

using test::expect_error;

constexpr int64_t kVocab = 40;

// score(tokens, bias): logits [B, T, V] without positions or state, as a reranker might have.
void build_scorer(ProgramBuilder& builder, const std::string& name) {
  MethodBuilder g(builder, name);
  const ValueId tokens = g.input("tokens", DataType::kI64, {kBatch, kTime});
  const ValueId bias = g.input("bias", DataType::kF32, {kBatch, kTime, kVocab});
  const ValueId x = g.embedding(tokens, "table", kVocab, 32, 1.0f);
  g.finish({g.add(g.linear(x, "head", kVocab), bias)});
}

TEST(SamplingHead, AnyMethodKeepsItsArgumentsAndDrawsFromItsLastLogits) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "p.gumbel";
  const auto checkpoint = random_checkpoint();
  ProgramBuilder builder(*checkpoint);
  build_scorer(builder, "scores");
  build_scorer(builder, "pick");
  add_sampling_head(builder.program, builder.program.methods[1]);
  test::TinyModel model;
  model.vocab = kVocab;
  test::write_built_program(path, builder, model, *make_reference_backend());

  const ProgramFile file(path);
  const Method& pick = *file.program().method("pick");
  const std::vector<std::string> expected = {"tokens", "bias", "temperature", "top_k",
                                             "top_p",  "seed", "min_p"};
  ASSERT_EQ(pick.inputs.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(pick.values[static_cast<size_t>(pick.inputs[i].value)].name, expected[i]);
    EXPECT_EQ(pick.inputs[i].default_value.has_value(), expected[i] == "min_p");
  }
  EXPECT_EQ(pick.nodes.back().inputs.size(), 6u);  // no positions

  constexpr int64_t kTokens = 3;
  const std::vector<int64_t> tokens = {1, 2, 3, 7, 8, 9};
  std::mt19937 random(2);
  std::vector<float> bias(2 * kTokens * kVocab);
  for (float& x : bias) x = std::normal_distribution<float>(0.0f, 3.0f)(random);
  for (const bool cpu : {false, true}) {
    std::unique_ptr<Backend> backend = make_reference_backend();
    if (cpu) backend = std::make_unique<cpu::CpuBackend>(cpu::supported_targets().front(), 1);
    const Weights weights(file, *backend);
    Executor scores(file.program(), *file.program().method("scores"), weights.all(), *backend, 2,
                    3);
    Executor draws(file.program(), pick, weights.all(), *backend, 2, 3);
    std::vector<Tensor> inputs = {
        test::matrix(tokens, 2),
        {DataType::kF32, 3, {2, kTokens, kVocab}, reinterpret_cast<std::byte*>(bias.data())}};
    const Tensor logits = scores.run(inputs, nullptr)[0];
    ASSERT_EQ(logits.rank, 3);
    for (int64_t seed = 0; seed < 40; ++seed) {
      test::DrawInputs draw;
      draw.temperature = {1.5f};
      draw.seed = {seed, seed + 7};
      std::vector<Tensor> all = inputs;
      for (const Tensor& parameter : test::tensors(draw)) all.push_back(parameter);
      const Tensor token = draws.run(all, nullptr)[0];
      ASSERT_EQ(token.dims[0], 2);
      for (int64_t row = 0; row < 2; ++row) {
        SamplingParameters parameters;
        parameters.temperature = 1.5f;
        parameters.seed = static_cast<uint64_t>(draw.seed[static_cast<size_t>(row)]);
        parameters.position = 0;
        const float* last = logits.as<float>() + (row * kTokens + kTokens - 1) * kVocab;
        EXPECT_EQ(token.as<int64_t>()[row], sample({last, kVocab}, parameters)) << "seed " << seed;
      }
    }
  }
}

TEST(SamplingHead, RefusesOtherMethodsAndLeavesThemAsTheyWere) {
  const Program program;
  const auto refuse = [&](const Value& output, const Value& input, std::string_view message) {
    Method method;
    method.name = "m";
    method.values = {input, output};
    method.inputs = {{0, std::nullopt}};
    method.outputs = {1};
    const Method before = method;
    expect_error(ErrorCode::kInvalidArgument, message, [&] { add_sampling_head(program, method); });
    EXPECT_EQ(method, before);
  };
  const Value tokens{"tokens", DataType::kI64, {kBatch, kTime}};
  const Value logits{"logits", DataType::kF32, {kBatch, 9}};
  for (const Shape& shape : {Shape{9}, Shape{kTime, 9}, Shape{kBatch, kTime}, Shape{kBatch, 4, 9},
                             Shape{kBatch, kTime, 3, 3}, Shape{kBatch, 1 << 23}, Shape{kPerRow}})
    refuse({"y", DataType::kF32, shape}, tokens, "to return logits f32 [B, V] or [B, T, V]");
  refuse({"y", DataType::kI64, {kBatch, 9}}, tokens, "got i64 [B, 9]");
  for (const char* name : {"temperature", "top_k", "top_p", "seed", "min_p"})
    refuse(logits, {name, DataType::kF32, {kPerRow}},
           fmt::format("method m already has an input {}", name));

  Method twice;
  twice.name = "m";
  twice.values = {logits, logits};
  twice.outputs = {0, 1};
  expect_error(ErrorCode::kInvalidArgument, "got 2 outputs",
               [&] { add_sampling_head(program, twice); });
  twice.outputs = {};
  expect_error(ErrorCode::kInvalidArgument, "got 0 outputs",
               [&] { add_sampling_head(program, twice); });

  Method defaulted;
  defaulted.name = "m";
  defaulted.values = {{"x", DataType::kF32, {kPerRow}}, logits};
  defaulted.inputs = {{0, 1.0}};
  defaulted.outputs = {1};
  expect_error(ErrorCode::kInvalidArgument, "without defaults, input x has one",
               [&] { add_sampling_head(program, defaulted); });
}

// A second head would sample tokens: refused by what the first has made of the method.
TEST(SamplingHead, IsAddedOnce) {
  const auto checkpoint = random_checkpoint();
  ProgramBuilder builder(*checkpoint);
  build_scorer(builder, "pick");
  add_sampling_head(builder.program, builder.program.methods[0]);
  expect_error(ErrorCode::kInvalidArgument, "got i64 [B]",
               [&] { add_sampling_head(builder.program, builder.program.methods[0]); });
}

}  // namespace
}  // namespace gumbel
