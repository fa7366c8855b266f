// Stretched rotary embeddings against transformers' logits
// (tests/data/models/make_rope_answers.py).
#include <algorithm>
#include <cmath>

#include "backends/reference/reference_backend.h"
#include "export/export.h"
#include "export/huggingface/safetensors_file.h"
#include "export/huggingface/strict_json.h"
#include "export/test_files.h"
#include "runtime/running_program.h"

namespace gumbel {
namespace {

using nlohmann::json;

TEST(RopeScaling, LogitsAreWithinTolerance) {
  const auto models = test::data_path("models");
  const json cases = read_strict_json(models / "rope_scaling.json");
  const SafetensorsFile answers(models / "rope_scaling.safetensors");
  const std::vector<int64_t> tokens = answers.read_i64("tokens");
  EXPECT_EQ(cases.size(), 11u);
  for (const auto& [name, given] : cases.items()) {
    SCOPED_TRACE(name);
    const test::TemporaryFolder folder;
    const auto source = models / given["model"].get<std::string>();
    json config = read_strict_json(source / "config.json");
    for (const auto& [key, value] : given["config"].items()) config[key] = value;
    folder.write("config.json", config.dump());
    std::filesystem::copy(source / "model.safetensors", folder.path() / "model.safetensors");
    const auto program = folder.path() / "m.gumbel";
    export_program(import_model(folder.path().string()), {}, *make_reference_backend(), program);
    test::RunningProgram running(program, make_reference_backend(), 1);
    const std::vector<float> expected = answers.read_f32(name);
    const std::vector<float> all = running.all_logits(tokens, 32);
    ASSERT_EQ(all.size(), expected.size() * tokens.size());
    const std::vector<float> found(all.end() - std::ssize(expected), all.end());
    float worst = 0;
    for (size_t i = 0; i < found.size(); ++i)
      if (!(std::abs(found[i] - expected[i]) <= worst)) worst = std::abs(found[i] - expected[i]);
    // As in golden_models_test.cc. Without a part of its rule, a case is off by 0.1 or more.
    EXPECT_LE(worst, given["model"] == "qwen3_5" ? 2e-3f : 2e-4f);
  }
}

}  // namespace
}  // namespace gumbel
