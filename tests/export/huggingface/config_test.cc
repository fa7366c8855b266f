#include "export/huggingface/config.h"

#include <gtest/gtest.h>

#include <cmath>

#include "export/huggingface/strict_json.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using nlohmann::json;
using test::data_path;
using test::expect_error;

constexpr const char* kOriginal = "original_max_position_embeddings";

json golden(const std::string& model) {
  return read_strict_json(data_path("models/" + model + "/config.json"));
}

ModelConfig read(const json& config) { return read_hf_config(config, "config.json"); }

TEST(HfConfig, Llama) {
  const ModelConfig c = read(golden("llama"));
  EXPECT_EQ(c.architecture, "llama");
  EXPECT_EQ(c.vocab_size, 320);
  EXPECT_EQ(c.hidden_size, 64);
  EXPECT_EQ(c.intermediate_size, 160);
  EXPECT_EQ(c.layers, 3);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.max_positions, 256);
  EXPECT_EQ(c.rms_norm_epsilon, 1e-5);
  EXPECT_EQ(c.attention_scale, 0.25);
  EXPECT_EQ(c.rotary.theta, 10000.0);
  EXPECT_EQ(c.rotary.scaling, RotaryConfig::Scaling::kNone);
  EXPECT_EQ(c.sliding_window, 0);
  EXPECT_EQ(c.layer_kinds, std::vector(3, LayerKind::kFullAttention));
  EXPECT_FALSE(c.tied_embeddings);
}

TEST(HfConfig, Llama3ScalingInBothSpellings) {
  json newer = golden("llama3");
  newer["rope_parameters"] = newer["rope_scaling"];
  newer["rope_parameters"]["rope_theta"] = newer["rope_theta"];
  newer.erase("rope_scaling");
  newer.erase("rope_theta");
  json oldest = golden("llama3");
  oldest["rope_scaling"]["type"] = oldest["rope_scaling"]["rope_type"];
  oldest["rope_scaling"].erase("rope_type");
  for (const json& config : {golden("llama3"), newer, oldest}) {
    const RotaryConfig rotary = read(config).rotary;
    EXPECT_EQ(rotary.theta, 10000.0);
    EXPECT_EQ(rotary.scaling, RotaryConfig::Scaling::kLlama3);
    EXPECT_EQ(rotary.factor, 8.0);
    EXPECT_EQ(rotary.low_frequency_factor, 1.0);
    EXPECT_EQ(rotary.high_frequency_factor, 4.0);
    EXPECT_EQ(rotary.original_max_positions, 32);
  }
}

TEST(HfConfig, Qwen3) {
  const ModelConfig c = read(golden("qwen3"));
  EXPECT_EQ(c.architecture, "qwen3");
  EXPECT_EQ(c.head_dim, 32);
  EXPECT_EQ(c.rotary.theta, 10000.0);
  EXPECT_TRUE(c.tied_embeddings);
  EXPECT_EQ(c.rms_norm_epsilon, 1e-6);
  json older = golden("qwen3");
  older.erase("rope_parameters");
  older["rope_theta"] = 5e6;
  older["rope_scaling"] = nullptr;
  older["sliding_window"] = nullptr;
  older["use_sliding_window"] = false;
  EXPECT_EQ(read(older).rotary.theta, 5e6);
}

TEST(HfConfig, Gemma3InBothSpellings) {
  json newer = golden("gemma3");
  newer["rope_parameters"] = {
      {"full_attention", {{"rope_theta", 1e6}, {"rope_type", "default"}}},
      {"sliding_attention", {{"rope_theta", 1e4}, {"rope_type", "default"}}}};
  newer.erase("rope_theta");
  newer.erase("rope_local_base_freq");
  json without_types = golden("gemma3");
  without_types.erase("layer_types");
  for (const json& config : {golden("gemma3"), newer, without_types}) {
    const ModelConfig c = read(config);
    EXPECT_EQ(c.architecture, "gemma3");
    EXPECT_EQ(c.head_dim, 32);
    EXPECT_EQ(c.kv_heads, 1);
    EXPECT_EQ(c.attention_scale, 1 / std::sqrt(32.0));
    EXPECT_EQ(c.rotary.theta, 1e6);
    EXPECT_EQ(c.rotary_local.theta, 1e4);
    EXPECT_EQ(c.sliding_window, 16);
    std::vector<LayerKind> kinds(7, LayerKind::kSlidingAttention);
    kinds[5] = LayerKind::kFullAttention;
    EXPECT_EQ(c.layer_kinds, kinds);
    EXPECT_TRUE(c.tied_embeddings);
  }
}

TEST(HfConfig, Gemma3TakesEachKindOfLayersOwnRotaryParameters) {
  json config = golden("gemma3");
  config["rope_parameters"] = {
      {"full_attention", {{"rope_theta", 2e6}, {"rope_type", "linear"}, {"factor", 8.0}}},
      {"sliding_attention", {{"rope_theta", 3e4}, {"rope_type", "default"}}}};
  const ModelConfig c = read(config);
  EXPECT_EQ(c.rotary.theta, 2e6);
  EXPECT_EQ(c.rotary.scaling, RotaryConfig::Scaling::kLinear);
  EXPECT_EQ(c.rotary.factor, 8.0);
  EXPECT_EQ(c.rotary_local.theta, 3e4);
  EXPECT_EQ(c.rotary_local.scaling, RotaryConfig::Scaling::kNone);
}

// The text_config of gemma-3-4b-it's config.json leaves out what equals the class's defaults.
TEST(HfConfig, MultimodalGemma3) {
  const ModelConfig c = read(json::parse(R"({
    "model_type": "gemma3", "eos_token_id": [1, 106],
    "text_config": {"hidden_size": 2560, "intermediate_size": 10240, "model_type": "gemma3_text",
      "num_hidden_layers": 34, "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
      "sliding_window": 1024},
    "vision_config": {"hidden_size": 1152}})"));
  EXPECT_EQ(c.architecture, "gemma3");
  EXPECT_EQ(c.vocab_size, 262'208);
  EXPECT_EQ(c.heads, 8);
  EXPECT_EQ(c.kv_heads, 4);
  EXPECT_EQ(c.head_dim, 256);
  EXPECT_EQ(c.max_positions, 131'072);
  EXPECT_EQ(c.attention_scale, 1.0 / 16);
  EXPECT_EQ(c.rotary.scaling, RotaryConfig::Scaling::kLinear);
  EXPECT_EQ(c.rotary.factor, 8.0);
  EXPECT_EQ(c.rotary.theta, 1e6);
  EXPECT_EQ(c.rotary_local.scaling, RotaryConfig::Scaling::kNone);
  EXPECT_EQ(c.layer_kinds[4], LayerKind::kSlidingAttention);
  EXPECT_EQ(c.layer_kinds[5], LayerKind::kFullAttention);
  EXPECT_TRUE(c.tied_embeddings);
}

struct Change {
  const char* model;
  const char* key;
  json value;
  ErrorCode code;
  const char* part;
};

TEST(HfConfig, WhatAFamilyCannotHonourIsRefusedByName) {
  constexpr auto kUnsupported = ErrorCode::kUnsupported;
  const std::vector<Change> changes = {
      {"llama", "model_type", "mistral", kUnsupported,
       "model_type 'mistral' is not supported, expected one of llama, qwen3, gemma3"},
      {"llama", "attention_bias", true, kUnsupported, "attention_bias"},
      {"llama", "mlp_bias", true, kUnsupported, "mlp_bias"},
      {"llama", "hidden_act", "gelu", kUnsupported, "hidden_act: expected silu, got 'gelu'"},
      {"llama",
       "rope_scaling",
       {{"rope_type", "longrope"}, {"factor", 4.0}},
       kUnsupported,
       "rope type 'longrope' is not supported, expected default, linear, llama3, yarn or "
       "proportional"},
      {"llama", "rope_scaling", {{"type", "dynamic"}, {"factor", 4.0}}, kUnsupported, "'dynamic'"},
      {"llama",
       "rope_parameters",
       {{"rope_theta", 1e4}, {"partial_rotary_factor", 0.5}},
       kUnsupported,
       "partial_rotary_factor: expected 1, got 0.5"},
      {"llama",
       "quantization_config",
       {{"quant_method", "gptq"}},
       kUnsupported,
       "quantization_config ('gptq') is not supported"},
      {"qwen3", "use_sliding_window", true, kUnsupported, "use_sliding_window"},
      {"qwen3",
       "layer_types",
       {"full_attention", "sliding_attention", "full_attention"},
       kUnsupported,
       "expected full_attention, got 'sliding_attention'"},
      {"qwen3",
       "layer_types",
       {"linear_attention", "full_attention", "full_attention"},
       kUnsupported,
       "got 'linear_attention'"},
      {"gemma3", "final_logit_softcapping", 30.0, kUnsupported, "final_logit_softcapping"},
      {"gemma3", "attn_logit_softcapping", 50.0, kUnsupported, "attn_logit_softcapping"},
      {"gemma3", "hidden_activation", "relu", kUnsupported,
       "expected gelu_pytorch_tanh, got 'relu'"},
      {"gemma3", "use_bidirectional_attention", true, kUnsupported, "use_bidirectional_attention"},
  };
  for (const Change& change : changes) {
    SCOPED_TRACE(change.key);
    json config = golden(change.model);
    config[change.key] = change.value;
    expect_error(change.code, change.part, [&] { read(config); });
  }
}

// Defaults and precedence of transformers' _compute_yarn_parameters.
TEST(HfConfig, Yarn) {
  const auto read_with = [](const json& changes) {
    json config = golden("qwen3");
    config["rope_parameters"] = {{"rope_type", "yarn"}, {"rope_theta", 1e6}};
    config["rope_parameters"].update(changes);
    return read(config).rotary;
  };
  const RotaryConfig defaults = read_with({{"factor", 4.0}});
  EXPECT_EQ(defaults.scaling, RotaryConfig::Scaling::kYarn);
  EXPECT_EQ(defaults.theta, 1e6);
  EXPECT_EQ(defaults.original_max_positions, 256);  // max_position_embeddings
  EXPECT_EQ(defaults.beta_fast, 32.0);
  EXPECT_EQ(defaults.beta_slow, 1.0);
  EXPECT_TRUE(defaults.truncate);
  EXPECT_NEAR(defaults.attention_factor, 1.1386294361119891, 1e-12);  // 1 + ln(4) / 10
  const RotaryConfig given = read_with({{"factor", nullptr},
                                        {kOriginal, 32},
                                        {"beta_fast", 16},
                                        {"beta_slow", 0},
                                        {"truncate", false},
                                        {"mscale", 0.5},
                                        {"mscale_all_dim", 0}});
  EXPECT_EQ(given.factor, 8.0);
  EXPECT_EQ(given.beta_fast, 16.0);
  EXPECT_EQ(given.beta_slow, 1.0);
  EXPECT_FALSE(given.truncate);
  EXPECT_NEAR(given.attention_factor, 1.2079441541679836, 1e-12);
  EXPECT_EQ(read_with({{"factor", 0.5}}).attention_factor, 1.0);
  EXPECT_EQ(read_with({{"factor", 4}, {"attention_factor", 2.0}}).attention_factor, 2.0);
}

TEST(HfConfig, ValuesOutOfRangeAreRefusedByName) {
  constexpr auto kCorrupt = ErrorCode::kCorruptFile;
  const auto yarn = [](json parameters) {
    parameters["type"] = "yarn";
    return parameters;
  };
  const std::vector<Change> changes = {
      {"llama", "vocab_size", 0, kCorrupt, "vocabulary size: expected 1 to"},
      {"llama", "vocab_size", int64_t{1} << 40, kCorrupt, "vocabulary size: expected 1 to"},
      {"llama", "vocab_size", "320", kCorrupt, "vocab_size: expected an integer"},
      {"llama", "vocab_size", 320.5, kCorrupt, "vocab_size: expected an integer"},
      {"llama", "vocab_size", nullptr, ErrorCode::kNotFound, "vocab_size is missing"},
      {"llama", "hidden_size", -64, kCorrupt, "hidden size: expected"},
      {"llama", "intermediate_size", 0, kCorrupt, "intermediate size: expected"},
      {"llama", "num_hidden_layers", 10'001, kCorrupt, "expected 1 to 10000, got 10001"},
      {"llama", "num_hidden_layers", int64_t{1} << 48, kCorrupt, "expected 1 to 10000"},
      {"gemma3", "num_hidden_layers", int64_t{1} << 48, kCorrupt, "expected 1 to 10000"},
      {"gemma3", "num_hidden_layers", 8, kCorrupt, "attention kinds of 8 layers, got 7"},
      {"llama", "num_attention_heads", 0, kCorrupt, "expected at least 1, got 0"},
      {"llama", "num_attention_heads", -1, kCorrupt, "expected at least 1, got -1"},
      {"llama", "num_key_value_heads", 3, kCorrupt, "divide the 4 heads, got 3"},
      {"llama", "num_key_value_heads", 0, kCorrupt, "key-value heads: expected 1 to 4"},
      {"llama", "num_key_value_heads", 8, kCorrupt, "key-value heads: expected 1 to 4"},
      {"llama", "head_dim", 15, kCorrupt, "head size: expected an even number, got 15"},
      {"llama", "head_dim", 0, kCorrupt, "head size: expected 2 to"},
      {"llama", "max_position_embeddings", 0, kCorrupt, "context length: expected 1 to"},
      {"llama", "rms_norm_eps", 0.0, kCorrupt, "RMS norm epsilon: expected"},
      {"llama", "rms_norm_eps", -1e-5, kCorrupt, "RMS norm epsilon: expected"},
      {"llama", "rope_theta", 0, kCorrupt, "rotary theta: expected"},
      {"llama", "rope_scaling", {{"type", "linear"}, {"factor", 0}}, kCorrupt, "scaling factor"},
      {"llama", "rope_scaling", {{"type", "linear"}}, ErrorCode::kNotFound, "factor is missing"},
      {"llama", "rope_scaling", {{"type", 5}}, kCorrupt, "type: expected a string"},
      {"llama", "rope_scaling", "linear", kCorrupt, "rope_scaling: expected a JSON object"},
      {"llama", "rope_scaling", yarn({{"factor", 0}}), kCorrupt, "scaling factor"},
      {"llama", "rope_scaling", yarn({{"factor", "4"}}), kCorrupt, "factor: expected a number"},
      {"llama", "rope_scaling", yarn({{"attention_factor", 0}}), kCorrupt, "attention_factor"},
      {"llama", "rope_scaling", yarn({{"factor", 4}, {"mscale", -1e9}, {"mscale_all_dim", 1}}),
       kCorrupt, "attention_factor"},
      {"llama", "rope_scaling", yarn({{"beta_fast", -1}}), kCorrupt, "beta_fast"},
      {"llama", "rope_scaling", yarn({{"beta_slow", 1e300}}), kCorrupt, "beta_slow"},
      {"llama", "rope_scaling", yarn({{"truncate", 1}}), kCorrupt, "truncate: expected"},
      {"llama", "rope_scaling", yarn({{"factor", nullptr}, {kOriginal, 0}}), kCorrupt,
       "scaling factor"},
      {"llama", "rope_scaling", yarn({{"factor", 4}, {kOriginal, 0}}), kCorrupt, kOriginal},
      {"llama", "model_type", nullptr, ErrorCode::kNotFound, "model_type is missing"},
      {"gemma3", "query_pre_attn_scalar", -4, kCorrupt, "attention scale: expected"},
      {"gemma3", "query_pre_attn_scalar", 0, kCorrupt, "attention scale: expected"},
      {"gemma3", "sliding_window", 0, kCorrupt, "sliding window: expected 1 to"},
      {"gemma3", "layer_types", 5, kCorrupt, "layer_types: expected an array of strings"},
      {"gemma3", "model_type", "gemma3", ErrorCode::kNotFound, "text_config is missing"},
  };
  for (const Change& change : changes) {
    SCOPED_TRACE(std::string(change.model) + " " + change.key + " " + change.value.dump());
    json config = golden(change.model);
    config[change.key] = change.value;
    expect_error(change.code, change.part, [&] { read(config); });
  }
  json llama3 = golden("llama3");
  llama3["rope_scaling"]["high_freq_factor"] = 1.0;
  expect_error(kCorrupt, "high_freq_factor above low_freq_factor", [&] { read(llama3); });
  json pattern = golden("gemma3");
  pattern.erase("layer_types");
  pattern["sliding_window_pattern"] = 0;
  expect_error(kCorrupt, "sliding_window_pattern: expected at least 1", [&] { read(pattern); });
  expect_error(kCorrupt, "expected a JSON object", [] { read(json::array()); });
}

}  // namespace
}  // namespace gumbel
