// config.json of Gemma 4 and Qwen3.5: what is read, what has a default, what is refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "export/builtin_configs.h"
#include "export/huggingface/config.h"
#include "export/huggingface/strict_json.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using nlohmann::json;
using test::expect_error;

constexpr auto kFull = LayerKind::kFullAttention;
constexpr auto kSliding = LayerKind::kSlidingAttention;
constexpr auto kLinear = LayerKind::kLinearAttention;

json golden(const std::string& model) {
  return read_strict_json(test::data_path("models/" + model + "/config.json"));
}

ModelConfig read(const json& config) { return read_hf_config(config, "config.json"); }

TEST(HfConfigGemma4, Dense) {
  const ModelConfig c = read(golden("gemma4"));
  EXPECT_EQ(c.architecture, "gemma4");
  EXPECT_EQ(c.head_dim, 32);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.full_head_dim, 64);
  EXPECT_EQ(c.full_kv_heads, 1);
  EXPECT_TRUE(c.keys_are_values);
  EXPECT_EQ(c.attention_scale, 1.0);
  EXPECT_EQ(c.final_logit_softcap, 30.0);
  EXPECT_EQ(c.per_layer_input_size, 0);
  EXPECT_EQ(c.experts, 0);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_TRUE(c.rotary.proportional);
  EXPECT_EQ(c.rotary.partial_factor, 0.25);
  EXPECT_EQ(c.rotary.theta, 1e6);
  EXPECT_FALSE(c.rotary_local.proportional);
  EXPECT_EQ(c.rotary_local.partial_factor, 1.0);
  EXPECT_EQ(c.rotary_local.theta, 1e4);
  std::vector<LayerKind> kinds(12, kSliding);
  kinds[5] = kinds[11] = kFull;
  EXPECT_EQ(c.layer_kinds, kinds);
}

TEST(HfConfigGemma4, ExpertsAndPerLayerInputs) {
  const ModelConfig moe = read(golden("gemma4_moe"));
  EXPECT_EQ(moe.experts, 8);
  EXPECT_EQ(moe.experts_per_token, 3);
  EXPECT_EQ(moe.expert_intermediate_size, 40);
  const ModelConfig e2b = read(golden("gemma4_e2b"));
  EXPECT_EQ(e2b.per_layer_input_size, 24);
  EXPECT_EQ(e2b.per_layer_vocab_size, 320);
  EXPECT_EQ(e2b.kv_shared_layers, 6);
  EXPECT_FALSE(e2b.keys_are_values);
  EXPECT_EQ(e2b.full_kv_heads, 2);  // without K used as V, full layers have as many as the others
}

TEST(HfConfigGemma4, DefaultsOfWhatAFileLeavesOut) {
  const ModelConfig c = read({{"model_type", "gemma4_text"}, {"num_hidden_layers", 7}});
  EXPECT_EQ(c.vocab_size, 262'144);
  EXPECT_EQ(c.hidden_size, 2304);
  EXPECT_EQ(c.full_head_dim, 512);
  EXPECT_EQ(c.per_layer_input_size, 256);
  EXPECT_EQ(c.final_logit_softcap, 0);
  EXPECT_TRUE(c.rotary.proportional);
  // Every sixth layer is full, and the last one always.
  EXPECT_EQ(c.layer_kinds,
            (std::vector{kSliding, kSliding, kSliding, kSliding, kSliding, kFull, kFull}));
  // A null says that there are none, where a key that is missing has the default.
  const json none = {{"model_type", "gemma4_text"}, {"hidden_size_per_layer_input", nullptr}};
  EXPECT_EQ(read(none).per_layer_input_size, 0);
}

TEST(HfConfigQwen3_5, ExpertsAndDense) {
  const ModelConfig moe = read(golden("qwen3_5_moe"));
  EXPECT_EQ(moe.architecture, "qwen3_5_moe");
  EXPECT_EQ(moe.experts, 8);
  EXPECT_EQ(moe.experts_per_token, 3);
  EXPECT_EQ(moe.expert_intermediate_size, 32);
  EXPECT_EQ(moe.shared_expert_intermediate_size, 48);
  EXPECT_EQ(moe.linear_key_heads, 2);
  EXPECT_EQ(moe.linear_value_heads, 4);
  EXPECT_EQ(moe.linear_key_dim, 16);
  EXPECT_EQ(moe.linear_value_dim, 16);
  EXPECT_EQ(moe.linear_conv_width, 4);
  EXPECT_EQ(moe.rotary.partial_factor, 0.25);
  EXPECT_FALSE(moe.rotary.proportional);
  EXPECT_EQ(moe.rotary.theta, 1e7);
  EXPECT_DOUBLE_EQ(moe.attention_scale, 1 / std::sqrt(32.0));
  std::vector<LayerKind> kinds(8, kLinear);
  kinds[3] = kinds[7] = kFull;
  EXPECT_EQ(moe.layer_kinds, kinds);
  const ModelConfig dense = read(golden("qwen3_5"));
  EXPECT_EQ(dense.architecture, "qwen3_5");
  EXPECT_EQ(dense.experts, 0);
  EXPECT_GT(dense.intermediate_size, 0);
}

// The language model's fields may stand in text_config, and tie_word_embeddings beside it.
TEST(HfConfigFamilies, MultimodalFilesSayTheSame) {
  const std::pair<const char*, const char*> kTypes[] = {
      {"gemma4", "gemma4"}, {"qwen3_5_moe", "qwen3_5_moe"}, {"qwen3_5", "qwen3_5"}};
  for (const auto& [model, type] : kTypes) {
    json text = golden(model);
    const ModelConfig plain = read(text);
    const bool tied = text["tie_word_embeddings"];
    text.erase("tie_word_embeddings");
    const ModelConfig c = read({{"model_type", type},
                                {"tie_word_embeddings", tied},
                                {"vision_config", {{"depth", 3}}},
                                {"text_config", text}});
    EXPECT_EQ(c.architecture, plain.architecture);
    EXPECT_EQ(c.layer_kinds, plain.layer_kinds);
    EXPECT_EQ(c.hidden_size, plain.hidden_size);
    EXPECT_EQ(c.tied_embeddings, tied) << model;
  }
  expect_error(ErrorCode::kNotFound, "text_config is missing",
               [] { read({{"model_type", "gemma4"}}); });
}

TEST(HfConfigFamilies, WhatTheyCannotBuildIsRefusedByName) {
  constexpr auto kUnsupported = ErrorCode::kUnsupported;
  constexpr auto kCorrupt = ErrorCode::kCorruptFile;
  const struct {
    const char* model;
    const char* key;
    json value;
    ErrorCode code;
    const char* part;
  } kChanges[] = {
      {"gemma4", "use_bidirectional_attention", "all", kUnsupported, "expected vision, got 'all'"},
      {"gemma4", "attention_bias", true, kUnsupported, "attention_bias"},
      {"gemma4", "hidden_activation", "relu", kUnsupported, "got 'relu'"},
      {"gemma4", "layer_types", std::vector<std::string>(12, "linear_attention"), kUnsupported,
       "expected sliding_attention or full_attention, got 'linear_attention'"},
      {"gemma4", "num_hidden_layers", 11, kCorrupt, "attention kinds of 11 layers, got 12"},
      {"gemma4", "global_head_dim", 63, kCorrupt, "rotated elements of a head"},
      {"gemma4", "num_global_key_value_heads", 3, kCorrupt, "divide the 4 heads, got 64 and 3"},
      {"gemma4", "final_logit_softcapping", -30.0, kCorrupt, "final logit softcap"},
      {"gemma4_moe", "num_experts", 0, kCorrupt, "num_experts: expected at least 1, got 0"},
      {"gemma4_moe", "num_experts", 65'537, kCorrupt, "experts: expected 1 to 65536, got 65537"},
      {"gemma4_moe", "num_experts", nullptr, ErrorCode::kNotFound, "num_experts is missing"},
      {"gemma4_moe", "top_k_experts", 9, kCorrupt, "experts per token: expected 1 to 8, got 9"},
      {"gemma4_e2b", "num_kv_shared_layers", 12, kCorrupt, "expected 0 to 11, got 12"},
      {"gemma4_e2b", "num_kv_shared_layers", 7, kCorrupt, "no layer of its kind before the 7"},
      {"gemma4_e2b", "vocab_size_per_layer_input", 0, kCorrupt, "per-layer vocabulary size"},
      {"qwen3_5_moe", "num_experts_per_tok", 0, kCorrupt, "experts per token: expected 1 to 8"},
      {"qwen3_5_moe", "mlp_only_layers", {3}, kUnsupported, "mlp_only_layers"},
      {"qwen3_5_moe", "attn_output_gate", false, kUnsupported, "attn_output_gate"},
      {"qwen3_5_moe", "linear_num_key_heads", 3, kCorrupt, "divide the 4 value heads, got 3"},
      {"qwen3_5_moe", "linear_conv_kernel_dim", 1, kCorrupt, "convolution: expected 2 to 64"},
      {"qwen3_5_moe", "hidden_act", "gelu", kUnsupported, "expected silu"},
      {"qwen3_5_moe", "layer_types", std::vector<std::string>(8, "sliding_attention"), kUnsupported,
       "expected linear_attention or full_attention, got 'sliding_attention'"},
      {"qwen3_5_moe",
       "rope_parameters",
       {{"rope_type", "longrope"}},
       kUnsupported,
       "rope type 'longrope' is not supported"},
      {"gemma4",
       "rope_parameters",
       {{"full_attention",
         {{"rope_type", "yarn"}, {"factor", 4.0}, {"partial_rotary_factor", 0.25}}}},
       kUnsupported,
       "partial_rotary_factor: expected 1 with YaRN in architecture gemma4, got 0.25"},
  };
  for (const auto& change : kChanges) {
    SCOPED_TRACE(std::string(change.model) + " " + change.key);
    json config = golden(change.model);
    config[change.key] = change.value;
    expect_error(change.code, change.part, [&] { read(config); });
  }
}

TEST(BuiltinConfigs, AreThePublishedShapes) {
  std::vector<std::string> names;
  for (const BuiltinConfig& builtin : builtin_configs()) {
    names.emplace_back(builtin.name);
    const ModelConfig c = read_hf_config(json::parse(builtin.json), builtin.name);
    if (builtin.name == "gemma4-31b") {
      EXPECT_EQ(c.layers, 60);
      EXPECT_EQ(std::count(c.layer_kinds.begin(), c.layer_kinds.end(), kFull), 10);
      EXPECT_EQ(c.full_kv_heads, 4);
    } else {
      EXPECT_EQ(c.experts, 256);
      EXPECT_EQ(std::count(c.layer_kinds.begin(), c.layer_kinds.end(), kFull), 10);
    }
  }
  EXPECT_EQ(names, (std::vector<std::string>{"gemma4-31b", "qwen3.5-35b-a3b"}));
}

}  // namespace
}  // namespace gumbel
