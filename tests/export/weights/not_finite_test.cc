// A weight that is NaN or infinite ends an export, whichever tensor of a model has it, and the
// message names the tensor.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <set>

#include "backends/reference/reference_backend.h"
#include "export/export.h"
#include "export/graph/program_builder.h"
#include "export/huggingface/strict_json.h"
#include "export/random_checkpoint.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using test::TemporaryFolder;

// The folder of the golden `model`, with the bfloat16 `bits` at `offset` of its `stored` weights.
std::filesystem::path with_weight(const TemporaryFolder& folder, const std::string& model,
                                  const std::string& stored, size_t offset, uint16_t bits) {
  std::string file = stored;
  std::memcpy(file.data() + offset, &bits, sizeof(bits));
  const auto target = folder.path() / model;
  std::filesystem::create_directories(target);
  std::filesystem::copy_file(test::data_path("models/" + model) / "config.json",
                             target / "config.json",
                             std::filesystem::copy_options::overwrite_existing);
  folder.write(model + "/model.safetensors", file);
  return target;
}

TEST(NotFinite, EveryTensorOfAModelIsNamed) {
  const TemporaryFolder folder;
  const auto output = folder.path() / "x.gumbel";
  for (const char* model : {"gemma4_moe", "gemma4_e2b", "qwen3_5_moe"}) {
    const std::string stored =
        test::read_file(test::data_path("models") / model / "model.safetensors");
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, stored.data(), 8);
    const auto header = nlohmann::json::parse(stored.substr(8, header_bytes));
    std::set<std::string> kinds;  // one layer of each kind is enough
    for (const auto& [name, tensor] : header.items()) {
      if (name == "__metadata__") continue;
      const size_t layer_end = name.starts_with("model.layers.") ? name.find('.', 13) : 0;
      if (!kinds.insert(name.substr(layer_end)).second) continue;
      // The last element: everything before it must have been looked at too.
      const size_t end = tensor["data_offsets"][1];
      const uint16_t bits = kinds.size() % 2 == 0 ? 0x7FC0 : 0xFF80;  // NaN, -infinity
      const auto source = with_weight(folder, model, stored, 8 + header_bytes + end - 2, bits);
      // Stacked experts' gate_up_proj is read as its two halves.
      const std::string named =
          name.ends_with("gate_up_proj") ? name.substr(0, name.size() - 12) + "up_proj" : name;
      for (const auto quantization : {Quantization::kNone, Quantization::kQ4}) {
        SCOPED_TRACE(name);
        test::expect_error(ErrorCode::kInvalidArgument, named, [&] {
          export_program(import_model(source.string()), {.quantization = quantization},
                         *make_reference_backend(), output);
        });
        EXPECT_FALSE(std::filesystem::exists(output));
        if (name.find("norm") != std::string::npos) break;  // vectors are never quantized
      }
    }
    EXPECT_GE(kinds.size(), 20u) << model;
  }
}

// What the exporter computes must be finite too.
TEST(NotFinite, ComputedVectorsAreNamed) {
  const auto checkpoint = random_checkpoint();
  ProgramBuilder builder(*checkpoint);
  test::expect_error(ErrorCode::kInvalidArgument, "taps: expected finite values, got -inf",
                     [&] { builder.computed_vector("taps", {1.0f, -HUGE_VALF}); });
}

// Finite, but what the graph computes of it is not.
TEST(NotFinite, ADecayRateBeyondFloat32IsNamedAsTheFileDoes) {
  const TemporaryFolder folder;
  const std::string stored =
      test::read_file(test::data_path("models/qwen3_5_moe/model.safetensors"));
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, stored.data(), 8);
  const auto header = nlohmann::json::parse(stored.substr(8, header_bytes));
  const std::string name = "model.layers.1.linear_attn.A_log";
  const size_t end = header[name]["data_offsets"][1];
  const auto refuse = [&](uint16_t bits, const std::string& got) {
    const auto source =
        with_weight(folder, "qwen3_5_moe", stored, 8 + header_bytes + end - 2, bits);
    test::expect_error(ErrorCode::kInvalidArgument, name + ": expected logarithms", [&] {
      export_program(import_model(source.string()), {}, *make_reference_backend(),
                     folder.path() / "x.gumbel");
    });
    test::expect_error(ErrorCode::kInvalidArgument, "got " + got, [&] {
      export_program(import_model(source.string()), {}, *make_reference_backend(),
                     folder.path() / "x.gumbel");
    });
  };
  refuse(0x42C8, "100");
  refuse(0x42B2, "89");
}

}  // namespace
}  // namespace gumbel
