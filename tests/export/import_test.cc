#include "export/import.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "export/gguf/tiny_gguf.h"
#include "export/gguf/writer.h"
#include "export/huggingface/strict_json.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using test::data_path;
using test::expect_error;
using test::GgufWriter;
using test::TemporaryFolder;

constexpr const char* kAccepted =
    "expected a GGUF file, a folder with config.json and safetensors, or random:config.json";

TEST(Import, HuggingFaceFolders) {
  for (const std::string name : {"llama", "llama3", "qwen3", "gemma3"}) {
    SCOPED_TRACE(name);
    const ImportedModel model = import_model(data_path("models/" + name).string());
    EXPECT_EQ(model.source_name, name);
    EXPECT_EQ(model.format, "Hugging Face");
    EXPECT_EQ(model.config.architecture, name == "llama3" ? "llama" : name);
    EXPECT_FALSE(model.tokenizer.has_value());
    EXPECT_TRUE(model.chat_template.empty());
    EXPECT_NE(model.weight_summary.find(" bf16"), std::string::npos) << model.weight_summary;
    const ModelConfig& c = model.config;
    model.weights->tensor("model.embed_tokens.weight", {c.vocab_size, c.hidden_size});
    EXPECT_EQ(model.weights->has("lm_head.weight"), !c.tied_embeddings);
    model.weights->tensor("model.layers.2.self_attn.q_proj.weight",
                          {c.heads * c.head_dim, c.hidden_size});
  }
  EXPECT_EQ(import_model(data_path("models/llama/").string()).format, "Hugging Face");
}

TEST(Import, GgufFilesByContentNotByName) {
  const TemporaryFolder folder;
  const auto path = folder.write("model.bin", test::tiny_llama().bytes());
  const ImportedModel model = import_model(path.string());
  EXPECT_EQ(model.source_name, "model.bin");
  EXPECT_EQ(model.format, "GGUF");
  EXPECT_EQ(model.weight_summary, "3 f32, 8 q4_0");
  EXPECT_FALSE(model.tokenizer.has_value());
  EXPECT_EQ(model.bos_id, -1);
  EXPECT_TRUE(model.config.tied_embeddings);
  test::read_tiny_weights(model);
}

TEST(Import, WhatIsSkippedOfAGgufIsNoted) {
  const ImportedModel model =
      import_model(test::data_path("models/gguf/qwen3_5-bf16.gguf").string());
  EXPECT_EQ(model.notes, std::vector<std::string>{"skipped 15 multi-token prediction tensors"});
  EXPECT_FALSE(model.weights->has("model.layers.4.input_layernorm.weight"));
  EXPECT_EQ(import_model(test::data_path("models/gguf/qwen3_5_moe-bf16.gguf").string()).notes,
            std::vector<std::string>{});
}

TEST(Import, TokenizerAndTemplateOfAGguf) {
  const TemporaryFolder folder;
  const std::vector<std::string> tokens = {"<|begin|>", "<|endoftext|>", "a", "b",
                                           "ab",        "<|im_end|>",    "c"};
  const ImportedModel model = import_model(
      folder.write("m.gguf", test::tiny_llama_with_tokenizer(tokens).bytes()).string());
  ASSERT_TRUE(model.tokenizer.has_value());
  EXPECT_EQ(model.tokenizer->tokens, tokens);
  EXPECT_EQ(model.tokenizer->merges.size(), 1u);
  EXPECT_EQ(model.bos_id, 0);
  EXPECT_EQ(model.eos_ids, (std::vector<int64_t>{1, 5}));
  EXPECT_EQ(model.chat_template, "{{ x }}");
}

TEST(Import, TokenizersThatDoNotFitAreRefused) {
  const TemporaryFolder folder;
  const auto refuses = [&](std::string_view part, const GgufWriter& writer) {
    const auto path = folder.write("m.gguf", writer.bytes());
    expect_error(ErrorCode::kCorruptFile, part, [&] { import_model(path.string()); });
  };
  GgufWriter wrong_type = test::tiny_llama();
  wrong_type.add_string("tokenizer.ggml.model", "gpt2");
  wrong_type.add_string("tokenizer.ggml.tokens", "abc");
  refuses("key 'tokenizer.ggml.tokens': expected an array of strings", wrong_type);
  GgufWriter wrong_class = test::tiny_llama();
  wrong_class.add_string("tokenizer.ggml.model", "gpt2");
  wrong_class.add_i32s("tokenizer.ggml.token_type", {7});
  refuses("token_type: expected types of 0 to 6, got 7", wrong_class);
  // A message of the tokenizer's own gets the file's name and stays on one line.
  GgufWriter wrong_merge = test::tiny_llama();
  wrong_merge.add_string("tokenizer.ggml.model", "gpt2");
  wrong_merge.add_strings("tokenizer.ggml.tokens", {"a"});
  wrong_merge.add_strings("tokenizer.ggml.merges", {"a\nb"});
  refuses("m.gguf: tokenizer.ggml.merges", wrong_merge);
}

TEST(Import, SyntheticWeights) {
  const std::string path = data_path("models/gemma3/config.json").string();
  const ImportedModel model = import_model("random:" + path);
  EXPECT_EQ(model.source_name, "random:config.json");
  EXPECT_EQ(model.format, "synthetic");
  EXPECT_EQ(model.config.architecture, "gemma3");
  EXPECT_FALSE(model.tokenizer.has_value());
  WeightRows rows;
  model.weights->tensor("model.embed_tokens.weight", {320, 64}).read_rows(319, 1, rows);
  EXPECT_EQ(rows.halves.size(), 64u);
}

TEST(Import, SpecialIdsBeyondTheEmbeddingRowsAreLeftOut) {
  using Notes = std::vector<std::string>;
  const TemporaryFolder folder;
  for (const char* file : {"config.json", "model.safetensors"})
    std::filesystem::copy(data_path("models/llama") / file, folder.path() / file);
  const auto import_with = [&](const char* generation) {
    folder.write("generation_config.json", generation);
    return import_model(folder.path().string());
  };
  ImportedModel model = import_with(R"({"eos_token_id": [319, 1], "bos_token_id": 2})");
  EXPECT_EQ(model.eos_ids, (std::vector<int64_t>{1, 319}));
  EXPECT_EQ(model.bos_id, 2);
  EXPECT_EQ(model.notes, Notes{});

  model = import_with(R"({"eos_token_id": [1, 320], "bos_token_id": 320})");
  EXPECT_EQ(model.eos_ids, std::vector<int64_t>{1});
  EXPECT_EQ(model.bos_id, -1);
  EXPECT_EQ(model.notes,
            (Notes{"left out the BOS id 320, expected rows 0 to 319 of the embedding table",
                   "left out the end-of-turn id 320, expected rows 0 to 319 of the embedding "
                   "table"}));

  model = import_with(R"({"eos_token_id": [-1, 7], "bos_token_id": -2})");
  EXPECT_EQ(model.eos_ids, std::vector<int64_t>{7});
  EXPECT_EQ(model.bos_id, -1);
  EXPECT_EQ(model.notes,
            (Notes{"left out the BOS id -2, expected rows 0 to 319 of the embedding table",
                   "left out the end-of-turn id -1, expected rows 0 to 319 of the embedding "
                   "table"}));

  model = import_with(R"({"eos_token_id": [400, 320, 9223372036854775807]})");
  EXPECT_EQ(model.eos_ids, std::vector<int64_t>{});
  EXPECT_EQ(model.notes, Notes{"left out the end-of-turn id 320 and 2 more, expected rows 0 to 319 "
                               "of the embedding table"});
}

TEST(Import, SpecialIdsOfAGgufThatAreNoTokensAreNoted) {
  const TemporaryFolder folder;
  GgufWriter writer =
      test::tiny_llama_with_tokenizer({"<|begin|>", "<|endoftext|>", "a", "b", "ab"});
  writer.add_u32("tokenizer.ggml.eot_token_id", 5);
  const ImportedModel model = import_model(folder.write("m.gguf", writer.bytes()).string());
  EXPECT_EQ(model.eos_ids, std::vector<int64_t>{1});
  EXPECT_EQ(model.notes, std::vector<std::string>{"tokenizer.ggml.eot_token_id: expected 0 to 4, "
                                                  "got 5: taken as absent"});
}

// Gemma 3's text checkpoints have the tokenizer of its multimodal ones, which has one token more
// than the embedding table has rows.
TEST(Import, TokenizersMayHaveMoreTokensThanTheEmbeddingTableHasRows) {
  const TemporaryFolder folder;
  GgufWriter writer = test::tiny_llama_with_tokenizer(
      {"<|begin|>", "<|endoftext|>", "a", "b", "ab", "c", "d", "e", "f", "<|im_end|>"});
  writer.add_u32("tokenizer.ggml.unknown_token_id", 8);
  const ImportedModel model = import_model(folder.write("m.gguf", writer.bytes()).string());
  ASSERT_TRUE(model.tokenizer.has_value());
  EXPECT_EQ(model.tokenizer->tokens.size(), 10u);
  EXPECT_EQ(model.tokenizer->unknown_id, -1);
  EXPECT_EQ(model.tokenizer->eos_id, 1);
  EXPECT_EQ(model.tokenizer->end_ids, std::vector<int64_t>{1});
  EXPECT_EQ(model.eos_ids, std::vector<int64_t>{1});
  EXPECT_EQ(model.bos_id, 0);
  EXPECT_EQ(model.notes,
            (std::vector<std::string>{
                "left out the unknown id 8, expected rows 0 to 7 of the embedding table",
                "left out the end-of-turn id 9, expected rows 0 to 7 of the embedding table"}));
}

TEST(Import, OtherSourcesAreRefusedWithWhatIsAccepted) {
  const TemporaryFolder folder;
  const std::string absent = (folder.path() / "absent").string();
  expect_error(ErrorCode::kNotFound, kAccepted, [&] { import_model(absent); });
  expect_error(ErrorCode::kNotFound, kAccepted, [] { import_model(""); });
  expect_error(ErrorCode::kNotFound, "no such file", [&] { import_model("random:" + absent); });
  expect_error(ErrorCode::kNotFound, "expected a config.json in the folder",
               [&] { import_model(folder.path().string()); });
  for (const std::string contents : {"", "GGU", "{}",
                                     "\x7f"
                                     "ELF"}) {
    const auto path = folder.write("file", contents);
    expect_error(ErrorCode::kInvalidArgument, kAccepted, [&] { import_model(path.string()); });
  }
  folder.write("config.json", "{");
  expect_error(ErrorCode::kCorruptFile, "config.json: not valid JSON",
               [&] { import_model(folder.path().string()); });
  expect_error(ErrorCode::kCorruptFile, "config.json: not valid JSON",
               [&] { import_model("random:" + (folder.path() / "config.json").string()); });
}

TEST(Import, MissingWeightsAreNamed) {
  const TemporaryFolder folder;
  std::filesystem::copy(data_path("models/llama/config.json"), folder.path() / "config.json");
  expect_error(ErrorCode::kNotFound, "expected model.safetensors, or model.safetensors.index.json",
               [&] { import_model(folder.path().string()); });
}

// Such a configuration describes another model, whose program would answer with nonsense.
TEST(Import, PartsThatTheConfigurationLacksAreNamed) {
  const struct {
    const char *model, *key;
    nlohmann::json value;
    const char *said, *tensor;
  } kCases[] = {
      {"gemma4_moe", "enable_moe_block", false, "no experts", "model.layers.0.router.proj.weight"},
      {"gemma4_moe", "enable_moe_block", nullptr, "no experts",
       "model.layers.0.router.proj.weight"},
      {"gemma4_e2b", "hidden_size_per_layer_input", 0, "no per-layer embeddings",
       "model.embed_tokens_per_layer.weight"},
      {"qwen3_5_moe", "shared_expert_intermediate_size", 0, "no shared expert",
       "model.layers.0.mlp.shared_expert.gate_proj.weight"},
      {"qwen3_5_moe", "model_type", "qwen3_5_text", "no experts", "model.layers.0.mlp.gate.weight"},
      {"qwen3", "num_hidden_layers", 2, "2 layers", "model.layers.2.input_layernorm.weight"},
  };
  for (const auto& c : kCases) {
    SCOPED_TRACE(testing::Message() << c.model << ' ' << c.key);
    const TemporaryFolder folder;
    const auto source = data_path("models") / c.model;
    nlohmann::json config = read_strict_json(source / "config.json");
    config[c.key] = c.value;
    if (std::string_view(c.key) == "num_hidden_layers") config.erase("layer_types");
    folder.write("config.json", config.dump());
    std::filesystem::copy(source / "model.safetensors", folder.path() / "model.safetensors");
    expect_error(ErrorCode::kCorruptFile,
                 std::string("the configuration has ") + c.said + ", but there is a tensor '" +
                     c.tensor + "'",
                 [&] { import_model(folder.path().string()); });
  }
}

}  // namespace
}  // namespace gumbel
