// Files like those of public fault reports (tests/data/faults): each is read, and gives the logits
// of an independent forward pass.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "backends/reference/reference_backend.h"
#include "export/export.h"
#include "export/huggingface/safetensors_file.h"
#include "export/test_files.h"
#include "runtime/running_program.h"
#include "text/tokenizer.h"
#include "text/tokenizer_record.h"

namespace gumbel {
namespace {

struct Fault {
  const char* name;
  const char* source;
  const char* answers;
};

class FaultFile : public testing::TestWithParam<Fault> {};

TEST_P(FaultFile, LogitsAreWithinTolerance) {
  const test::TemporaryFolder folder;
  const auto program = folder.path() / "m.gumbel";
  export_program(import_model(test::data_path(GetParam().source).string()), {},
                 *make_reference_backend(), program);
  test::RunningProgram running(program, make_reference_backend(), 1);
  const SafetensorsFile answers(test::data_path(GetParam().answers));
  for (int text = 0; text < 4; ++text) {
    const auto tokens = answers.read_i64(fmt::format("{}.tokens", text));
    const std::vector<float> expected = answers.read_f32(fmt::format("{}.logits", text));
    const std::vector<float> found = running.all_logits(tokens, 16);
    ASSERT_EQ(found.size(), expected.size());
    float worst = 0;
    for (size_t i = 0; i < found.size(); ++i)
      if (!(std::abs(found[i] - expected[i]) <= worst)) worst = std::abs(found[i] - expected[i]);
    EXPECT_LE(worst, 2e-4f) << "text " << text;  // as in golden_models_test.cc
  }
}

INSTANTIATE_TEST_SUITE_P(
    Reports, FaultFile,
    testing::Values(Fault{"MoreTokensThanRows", "faults/p01_token_beyond_vocab",
                          "faults/p01_token_beyond_vocab/answers.safetensors"},
                    Fault{"NoEpsilon", "faults/gguf/p02_gemma3_no_eps.gguf",
                          "models/gemma3/answers.safetensors"},
                    Fault{"EosBeyondTheVocabulary", "faults/gguf/p03a_eos_320.gguf",
                          "models/llama/answers.safetensors"},
                    Fault{"AliasOfLlama", "faults/gguf/p05_llama_smaug-bpe.gguf",
                          "models/llama/answers.safetensors"},
                    Fault{"AliasOfQwen", "faults/gguf/p05_qwen3_deepseek-r1-qwen.gguf",
                          "models/qwen3/answers.safetensors"},
                    Fault{"Yarn", "faults/gguf/p09_qwen3_yarn.gguf",
                          "faults/gguf/answers_p09.safetensors"}),
    [](const auto& fault) { return std::string(fault.param.name); });

TEST(FaultFiles, ATokenizerMayHaveMoreTokensThanRows) {
  const ImportedModel model =
      import_model(test::data_path("faults/p01_token_beyond_vocab").string());
  const std::vector<std::byte> record = serialize_tokenizer(model.tokenizer.value());
  const Tokenizer tokenizer(record);
  EXPECT_EQ(tokenizer.encode("the th he"),
            (std::vector<std::int64_t>{288, 266, 261, 288, 261, 289}));
}

}  // namespace
}  // namespace gumbel
