// A sampled export is the logits export with a draw at its end.
#include <random>
#include <set>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "export/export.h"
#include "export/test_files.h"
#include "runtime/running_program.h"
#include "sampling/sampler.h"

namespace gumbel {
namespace {

using test::DrawInputs;
using test::RunningProgram;

std::unique_ptr<Backend> backend(bool cpu) {
  if (!cpu) return make_reference_backend();
  return std::make_unique<cpu::CpuBackend>(cpu::supported_targets().front(), 1);
}

class SampledExport : public testing::TestWithParam<bool> {
 protected:
  SampledExport() {
    const ImportedModel model = import_model(test::data_path("models/llama").string());
    const auto packer = backend(GetParam());
    ExportOptions options;
    logits_ = export_program(model, options, *packer, logits_path_);
    options.sample = true;
    sampled_ = export_program(model, options, *packer, sampled_path_);
  }

  test::TemporaryFolder folder_;
  std::filesystem::path logits_path_ = folder_.path() / "logits.gumbel";
  std::filesystem::path sampled_path_ = folder_.path() / "sampled.gumbel";
  Program logits_;
  Program sampled_;
};

TEST_P(SampledExport, AddsNodesToTheEndAndChangesNoOther) {
  const Method& plain = *logits_.method("forward");
  const Method& drawing = *sampled_.method("forward");
  ASSERT_EQ(drawing.nodes.size(), plain.nodes.size() + 1);
  EXPECT_TRUE(std::equal(plain.nodes.begin(), plain.nodes.end(), drawing.nodes.begin()));
  EXPECT_TRUE(std::equal(plain.values.begin(), plain.values.end(), drawing.values.begin()));
  EXPECT_TRUE(std::equal(plain.inputs.begin(), plain.inputs.end(), drawing.inputs.begin()));
  EXPECT_EQ(drawing.nodes.back().op, Op::kSample);
  EXPECT_EQ(drawing.nodes.back().inputs[0], plain.outputs[0]);
  const Value& token = drawing.values[static_cast<size_t>(drawing.outputs[0])];
  EXPECT_EQ(token.type, DataType::kI64);
  EXPECT_EQ(token.shape, Shape{kBatch});
  EXPECT_EQ(sampled_.constant("use_sampling"), 1);
  EXPECT_EQ(logits_.constant("use_sampling"), 0);
  EXPECT_EQ(sampled_.method("forward_all"), nullptr);
  std::vector<std::string> names;
  for (const Input& input : drawing.inputs)
    names.push_back(drawing.values[static_cast<size_t>(input.value)].name);
  EXPECT_EQ(names, (std::vector<std::string>{"tokens", "input_pos", "temperature", "top_k", "top_p",
                                             "seed", "min_p"}));
}

TEST_P(SampledExport, ALogitsExportIsTheSameBytesEveryTime) {
  const ImportedModel model = import_model(test::data_path("models/llama").string());
  const auto again = folder_.path() / "again.gumbel";
  export_program(model, {}, *backend(GetParam()), again);
  EXPECT_EQ(test::read_file(again), test::read_file(logits_path_));
}

// One export, every setting: the tokens are those of the plain sampler on the other export's
// logits.
TEST_P(SampledExport, DrawsWhatTheSamplerDrawsFromTheLogits) {
  RunningProgram plain(logits_path_, backend(GetParam()), 1);
  RunningProgram drawing(sampled_path_, backend(GetParam()), 1);
  SessionState plain_state = plain.new_state(1);
  SessionState state = drawing.new_state(1);
  std::mt19937 random(11);
  const auto pick = [&](auto... options) {
    const std::common_type_t<decltype(options)...> all[] = {options...};
    return all[random() % sizeof...(options)];
  };
  const int64_t vocab = plain.program().constant("get_vocab_size");
  std::set<int64_t> seen;
  for (int64_t position = 0; position < 12; ++position) {
    const auto token = static_cast<int64_t>(random() % static_cast<uint64_t>(vocab));
    const std::vector<float> logits = plain.logits("forward", {token}, {position}, plain_state);
    for (int i = 0; i < 60; ++i) {
      DrawInputs draw;
      draw.temperature = {pick(0.0f, 0.3f, 1.0f, 1.7f, 8.0f)};
      draw.top_k = {static_cast<int64_t>(pick(0, 1, 2, 40, 1000))};
      draw.top_p = {pick(1.0f, 0.95f, 0.5f, 0.01f)};
      draw.min_p = {pick(0.0f, 0.02f, 0.6f)};
      draw.seed = {static_cast<int64_t>(random()) - 100 + (int64_t{1} << (random() % 60))};
      SamplingParameters parameters;
      parameters.temperature = draw.temperature[0];
      parameters.top_k = draw.top_k[0];
      parameters.top_p = draw.top_p[0];
      parameters.min_p = draw.min_p[0];
      parameters.seed = static_cast<uint64_t>(draw.seed[0]);
      parameters.position = static_cast<uint32_t>(position + 1);
      const int64_t drawn = drawing.draw({token}, {position}, state, draw)[0];
      ASSERT_EQ(drawn, sample(logits, parameters)) << "position " << position << ", setting " << i;
      seen.insert(drawn);
    }
  }
  EXPECT_GT(seen.size(), 30u);
}

TEST_P(SampledExport, ASeedRepeatsItsTokensAndOthersDiffer) {
  RunningProgram program(sampled_path_, backend(GetParam()), 1);
  const auto generate = [&](int64_t seed) {
    SessionState state = program.new_state(1);
    DrawInputs draw;
    draw.seed = {seed};
    std::vector<int64_t> tokens = {3};
    for (int64_t position = 0; position < 24; ++position)
      tokens.push_back(program.draw({tokens.back()}, {position}, state, draw)[0]);
    return tokens;
  };
  std::set<std::vector<int64_t>> texts;
  for (const int64_t seed : {int64_t{0}, int64_t{1}, int64_t{42}, int64_t{43},
                             (int64_t{1} << 32) + 1, int64_t{-1}, INT64_MIN}) {
    const std::vector<int64_t> text = generate(seed);
    EXPECT_EQ(generate(seed), text);
    texts.insert(text);
  }
  EXPECT_EQ(texts.size(), 7u);
  // Neighbouring seeds do not repeat each other one step later.
  const std::vector<int64_t> a = generate(41);
  const std::vector<int64_t> b = generate(42);
  int equal = 0;
  for (size_t i = 2; i < a.size(); ++i) equal += a[i] == b[i - 1] ? 1 : 0;
  EXPECT_LT(equal, 8);
}

INSTANTIATE_TEST_SUITE_P(Backends, SampledExport, testing::Bool(),
                         [](const auto& cpu) { return cpu.param ? "Cpu" : "Reference"; });

}  // namespace
}  // namespace gumbel
