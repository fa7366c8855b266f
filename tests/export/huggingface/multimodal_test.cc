// The language model of a multimodal folder exports as the same program as the model alone.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>

#include "backends/reference/reference_backend.h"
#include "export/export.h"
#include "export/huggingface/strict_json.h"
#include "export/test_files.h"
#include "program/program_file.h"

namespace gumbel {
namespace {

using nlohmann::json;
using test::TemporaryFolder;

// Rewrites the golden `model` as files of a multimodal model have it: the configuration in
// text_config, tensors under `prefix`, and others of a vision tower and of token prediction.
std::filesystem::path write_multimodal(const TemporaryFolder& folder, const std::string& model,
                                       const std::string& type, const std::string& prefix) {
  const auto source = test::data_path("models/" + model);
  json text = read_strict_json(source / "config.json");
  const json config = {{"model_type", type},
                       {"tie_word_embeddings", text["tie_word_embeddings"]},
                       {"text_config", text},
                       {"vision_config", {{"depth", 1}}}};
  const std::string stored = test::read_file(source / "model.safetensors");
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, stored.data(), 8);
  const json header = json::parse(stored.substr(8, header_bytes));
  std::string data = stored.substr(8 + header_bytes);
  json renamed = json::object();
  for (const auto& [name, tensor] : header.items()) {
    const bool inner = name.starts_with("model.");
    renamed[inner ? prefix + name.substr(6) : name] = tensor;
  }
  for (const char* name : {"model.visual.patch_embed.proj.weight", "mtp.fc.weight"}) {
    renamed[name] = {
        {"dtype", "BF16"}, {"shape", {2, 2}}, {"data_offsets", {data.size(), data.size() + 8}}};
    data += std::string(8, '\1');
  }
  const std::string new_header = renamed.dump();
  const uint64_t new_bytes = new_header.size();
  std::string file(8, '\0');
  std::memcpy(file.data(), &new_bytes, 8);
  const auto target = folder.path() / (model + "-multimodal");
  std::filesystem::create_directories(target);
  std::ofstream(target / "config.json") << config;
  std::ofstream(target / "model.safetensors", std::ios::binary) << file << new_header << data;
  return target;
}

TEST(Multimodal, TheLanguageModelIsTheSameProgram) {
  const TemporaryFolder folder;
  const struct {
    const char *model, *type, *prefix;
  } kModels[] = {{"gemma4_moe", "gemma4", "model.language_model."},
                 {"gemma4_e2b", "gemma4", "model.language_model."},
                 {"qwen3_5_moe", "qwen3_5_moe", "model.language_model."},
                 {"qwen3_5", "qwen3_5", "model.language_model."},
                 {"gemma3", "gemma3", "language_model.model."}};
  for (const auto& m : kModels) {
    const ImportedModel plain =
        import_model(test::data_path(std::string("models/") + m.model).string());
    const ImportedModel multimodal =
        import_model(write_multimodal(folder, m.model, m.type, m.prefix).string());
    EXPECT_TRUE(plain.notes.empty());
    EXPECT_EQ(multimodal.notes,
              (std::vector<std::string>{"skipped 1 multi-token prediction tensors",
                                        "skipped 1 vision tensors"}));
    EXPECT_EQ(multimodal.weight_summary, plain.weight_summary);
    const auto backend = make_reference_backend();
    const Program a = export_program(plain, {}, *backend, folder.path() / "a.gumbel");
    const Program b = export_program(multimodal, {}, *backend, folder.path() / "b.gumbel");
    EXPECT_EQ(a.methods, b.methods) << m.model;
    EXPECT_EQ(a.weights, b.weights) << m.model;  // names, shapes and checksums
  }
}

// Shapes that contradict the configuration are named, both of them.
TEST(Multimodal, WeightsThatContradictTheConfigurationAreNamed) {
  const TemporaryFolder folder;
  const auto refused = [&](const char* model, const char* key, const json& value,
                           const char* message) {
    const auto source = test::data_path(std::string("models/") + model);
    json config = read_strict_json(source / "config.json");
    config[key] = value;
    const auto target = folder.path() / (std::string(model) + key);
    std::filesystem::create_directories(target);
    std::ofstream(target / "config.json") << config;
    std::filesystem::copy_file(source / "model.safetensors", target / "model.safetensors");
    test::expect_error(ErrorCode::kCorruptFile, message, [&] {
      export_program(import_model(target.string()), {}, *make_reference_backend(),
                     folder.path() / "x.gumbel");
    });
    EXPECT_FALSE(std::filesystem::exists(folder.path() / "x.gumbel"));
  };
  refused("gemma4_moe", "num_experts", 9,
          "model.layers.0.router.proj.weight': expected shape [9, 96], got [8, 96]");
  refused("gemma4_moe", "moe_intermediate_size", 48,
          "model.layers.0.experts.gate_proj': expected shape [8, 48, 96], got [8, 40, 96]");
  refused("qwen3_5_moe", "linear_conv_kernel_dim", 3,
          "conv1d.weight': expected shape [128, 1, 3], got [128, 1, 4]");
  refused("qwen3_5_moe", "linear_value_head_dim", 32,
          "in_proj_qkv.weight': expected shape [192, 64], got [128, 64]");
  refused("gemma4_e2b", "hidden_size_per_layer_input", 32,
          "embed_tokens_per_layer.weight': expected shape [320, 384], got [320, 288]");
  refused("gemma4", "global_head_dim", 32,
          "model.layers.5.self_attn.q_proj.weight': expected shape [128, 96], got [256, 96]");
}

}  // namespace
}  // namespace gumbel
