// Files of Gemma 4 and Qwen3.5 with changed bytes in their headers: each is imported and its graph
// built, or refused in one line.
#include <gtest/gtest.h>

#include <fstream>

#include "export/graph/program_builder.h"
#include "export/import.h"
#include "export/models/family.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

void import_and_build(const std::filesystem::path& path) {
  const ImportedModel model = import_model(path.string());
  ProgramBuilder builder(*model.weights);
  MethodBuilder g(builder, "forward");
  const ModelInputs inputs{g.input("tokens", DataType::kI64, {kBatch, kTime}),
                           g.input("input_pos", DataType::kI64, {kBatch, kTime})};
  model_family(model.config.architecture)(g, model.config, inputs);
}

class HostileFamily : public testing::TestWithParam<const char*> {};

TEST_P(HostileFamily, FlippedBytesOfTheHeaderAreReadOrRefused) {
  const test::TemporaryFolder folder;
  const std::string whole = test::read_file(test::data_path("models/gguf") / GetParam());
  const auto path = folder.write("changed.gguf", whole);
  import_and_build(path);
  // Where the metadata end and the tensors' descriptions begin, and where those end, about.
  const size_t metadata_end = whole.find("token_embd.weight");
  const size_t header_end = whole.rfind(".weight");
  ASSERT_LT(metadata_end, header_end);
  ASSERT_LT(header_end, 20'000u);
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  const auto put = [&](size_t at, char byte) {
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte).flush();
    ASSERT_TRUE(file.good());
  };
  int refused = 0, tried = 0;
  for (size_t i = 0; i < header_end; i += i < metadata_end ? 1 : 7)
    for (const int flip : {0x01, 0xFF}) {
      put(i, static_cast<char>(whole[i] ^ flip));
      if (!test::succeeds_or_refuses([&] { import_and_build(path); })) ++refused;
      ++tried;
      if (HasFailure()) FAIL() << "byte " << i << " flipped by " << flip;
      put(i, whole[i]);
    }
  EXPECT_GT(refused, tried / 3);
  EXPECT_LT(refused, tried);
}

INSTANTIATE_TEST_SUITE_P(Gguf, HostileFamily,
                         testing::Values("gemma4_moe-mixed.gguf", "gemma4_e2b-bf16.gguf",
                                         "qwen3_5_moe-mixed.gguf", "qwen3_5-bf16.gguf"),
                         [](const auto& file) {
                           const std::string name = file.param;
                           return name.substr(0, name.find('-'));
                         });

}  // namespace
}  // namespace gumbel
