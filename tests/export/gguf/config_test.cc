#include "export/gguf/config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "export/gguf/config_reading.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using test::expect_error;
using test::GgufWriter;
using test::TemporaryFolder;

/// The same with an MLP of 64.
ModelConfig read(const std::string& architecture, const std::function<void(GgufWriter&)>& more) {
  return test::read_config(architecture, [&](GgufWriter& writer) {
    writer.add_u32(architecture + ".feed_forward_length", 64);
    more(writer);
  });
}

TEST(GgufConfig, Llama) {
  const ModelConfig c = read("llama", [](GgufWriter& w) {
    w.add_u32("llama.attention.head_count_kv", 2);
    w.add_f32("llama.rope.freq_base", 500000.0f);
    w.add_u32("llama.rope.dimension_count", 8);
    w.add_f32_tensor("output.weight", {32, 10}, std::vector<float>(320));
    w.add_f32_tensor("rope_freqs.weight", {4}, {1, 1, 2.5f, 8});
  });
  EXPECT_EQ(c.architecture, "llama");
  EXPECT_EQ(c.vocab_size, 10);
  EXPECT_EQ(c.hidden_size, 32);
  EXPECT_EQ(c.intermediate_size, 64);
  EXPECT_EQ(c.layers, 12);
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim, 8);
  EXPECT_EQ(c.max_positions, 64);
  EXPECT_EQ(c.rms_norm_epsilon, 0x1p-20);
  EXPECT_EQ(c.attention_scale, 1 / std::sqrt(8.0));
  EXPECT_EQ(c.rotary.theta, 500000.0);
  EXPECT_EQ(c.rotary.divisors, (std::vector<float>{1, 1, 2.5f, 8}));
  EXPECT_EQ(c.layer_kinds, std::vector(12, LayerKind::kFullAttention));
  EXPECT_FALSE(c.tied_embeddings);
}

TEST(GgufConfig, AbsentKeysHaveLlamaCppsDefaults) {
  const ModelConfig c = read("llama", [](GgufWriter&) {});
  EXPECT_EQ(c.kv_heads, 4);
  EXPECT_EQ(c.rotary.theta, 10000.0);
  EXPECT_EQ(c.rotary.scaling, RotaryConfig::Scaling::kNone);
  EXPECT_TRUE(c.rotary.divisors.empty());
  EXPECT_TRUE(c.tied_embeddings);
}

TEST(GgufConfig, LinearScalingAndPerLayerArrays) {
  const ModelConfig c = read("llama", [](GgufWriter& w) {
    w.add_string("llama.rope.scaling.type", "linear");
    w.add_f32("llama.rope.scaling.factor", 4.0f);
    w.add_i32s("llama.attention.head_count_kv", std::vector<int32_t>(12, 2));
  });
  EXPECT_EQ(c.rotary.scaling, RotaryConfig::Scaling::kLinear);
  EXPECT_EQ(c.rotary.factor, 4.0);
  EXPECT_EQ(c.kv_heads, 2);
}

// llama.cpp's loader: without a type, a factor is linear, by either name; "none" switches it off.
TEST(GgufConfig, FactorsWithoutATypeAreLinear) {
  for (const char* key : {"llama.rope.scaling.factor", "llama.rope.scale_linear"}) {
    const auto read_with = [&](float factor, const char* type) {
      return read("llama",
                  [&](GgufWriter& w) {
                    w.add_f32(key, factor);
                    if (type != nullptr) w.add_string("llama.rope.scaling.type", type);
                  })
          .rotary;
    };
    for (const char* type : {static_cast<const char*>(nullptr), "linear"}) {
      EXPECT_EQ(read_with(4.0f, type).scaling, RotaryConfig::Scaling::kLinear);
      EXPECT_EQ(read_with(4.0f, type).factor, 4.0);
      for (const float none : {0.0f, 1.0f})
        EXPECT_EQ(read_with(none, type).scaling, RotaryConfig::Scaling::kNone);
    }
    EXPECT_EQ(read_with(4.0f, "none").scaling, RotaryConfig::Scaling::kNone);
    EXPECT_EQ(read_with(4.0f, "none").factor, 1.0);
  }
}

TEST(GgufConfig, Yarn) {
  const auto read_with = [](const std::function<void(GgufWriter&)>& more) {
    return read("llama",
                [&](GgufWriter& w) {
                  w.add_string("llama.rope.scaling.type", "yarn");
                  w.add_f32("llama.rope.scaling.factor", 8.0f);
                  more(w);
                })
        .rotary;
  };
  const RotaryConfig defaults = read_with([](GgufWriter&) {});
  EXPECT_EQ(defaults.scaling, RotaryConfig::Scaling::kYarn);
  EXPECT_EQ(defaults.factor, 8.0);
  EXPECT_EQ(defaults.original_max_positions, 64);
  EXPECT_EQ(defaults.beta_fast, 32.0);
  EXPECT_EQ(defaults.beta_slow, 1.0);
  EXPECT_TRUE(defaults.truncate);
  EXPECT_NEAR(defaults.attention_factor, 1.2079441541679836, 1e-12);  // 1 + ln(8) / 10
  const RotaryConfig given = read_with([](GgufWriter& w) {
    w.add_u32("llama.rope.scaling.original_context_length", 16);
    w.add_f32("llama.rope.scaling.yarn_beta_fast", 8.0f);
    w.add_f32("llama.rope.scaling.yarn_beta_slow", 2.0f);
    w.add_f32("llama.rope.scaling.yarn_attn_factor", 1.5f);
    w.add_f32("llama.rope.scaling.yarn_ext_factor", 1.0f);
    w.add_f32("llama.rope.scaling.yarn_log_multiplier", 0.0f);
  });
  EXPECT_EQ(given.original_max_positions, 16);
  EXPECT_EQ(given.beta_fast, 8.0);
  EXPECT_EQ(given.beta_slow, 2.0);
  EXPECT_EQ(given.attention_factor, 1.5);
  const RotaryConfig multiplied =
      read_with([](GgufWriter& w) { w.add_f32("llama.rope.scaling.attn_factor", 0.5f); });
  EXPECT_NEAR(multiplied.attention_factor, 1.2079441541679836 / 2, 1e-12);
}

TEST(GgufConfig, Qwen3) {
  const ModelConfig c = read("qwen3", [](GgufWriter& w) {
    w.add_u32("qwen3.attention.key_length", 16);
    w.add_u32("qwen3.attention.value_length", 16);
    w.add_f32("qwen3.rope.freq_base", 1e6f);
  });
  EXPECT_EQ(c.architecture, "qwen3");
  EXPECT_EQ(c.head_dim, 16);
  EXPECT_EQ(c.attention_scale, 0.25);
  EXPECT_EQ(c.rotary.theta, 1e6);
}

TEST(GgufConfig, Gemma3) {
  const auto keys = [](GgufWriter& w) {
    w.add_u32("gemma3.attention.key_length", 16);
    w.add_u32("gemma3.attention.value_length", 16);
    w.add_f32("gemma3.rope.freq_base", 1e6f);
    w.add_u32("gemma3.attention.sliding_window", 512);
    w.add_string("gemma3.rope.scaling.type", "linear");
    w.add_f32("gemma3.rope.scaling.factor", 8.0f);
  };
  const ModelConfig c = read("gemma3", keys);
  EXPECT_EQ(c.attention_scale, 0.25);
  EXPECT_EQ(c.sliding_window, 512);
  EXPECT_EQ(c.rotary.theta, 1e6);
  EXPECT_EQ(c.rotary.factor, 8.0);
  EXPECT_EQ(c.rotary_local.theta, 1e4);
  EXPECT_EQ(c.rotary_local.scaling, RotaryConfig::Scaling::kNone);
  for (size_t layer = 0; layer < 12; ++layer)
    EXPECT_EQ(c.layer_kinds[layer] == LayerKind::kSlidingAttention, layer != 5 && layer != 11)
        << layer;
  const ModelConfig other = read("gemma3", [&](GgufWriter& w) {
    keys(w);
    w.add_u32("gemma3.attention.sliding_window_pattern", 2);
    w.add_f32("gemma3.rope.freq_base_swa", 5000.0f);
  });
  EXPECT_EQ(other.rotary_local.theta, 5000.0);
  EXPECT_EQ(other.layer_kinds[0], LayerKind::kSlidingAttention);
  EXPECT_EQ(other.layer_kinds[1], LayerKind::kFullAttention);
}

TEST(GgufConfig, Gemma3Of27BScalesByItsHiddenSize) {
  const TemporaryFolder folder;
  GgufWriter w;
  w.add_string("general.architecture", "gemma3");
  w.add_u32("gemma3.embedding_length", 5376);
  w.add_u32("gemma3.block_count", 62);
  w.add_u32("gemma3.feed_forward_length", 21504);
  w.add_u32("gemma3.attention.head_count", 32);
  w.add_u32("gemma3.attention.head_count_kv", 16);
  w.add_u32("gemma3.attention.key_length", 128);
  w.add_u32("gemma3.attention.value_length", 128);
  w.add_u32("gemma3.attention.sliding_window", 1024);
  w.add_u32("gemma3.context_length", 131072);
  w.add_f32("gemma3.attention.layer_norm_rms_epsilon", 1e-6f);
  w.add_f32_tensor("token_embd.weight", {5376, 2}, std::vector<float>(5376 * 2));
  const GgufFile file(folder.write("model.gguf", w.bytes()));
  EXPECT_EQ(read_gguf_config(file).attention_scale, 1 / std::sqrt(168.0));
}

TEST(GgufConfig, WhatAFamilyCannotHonourIsRefusedByName) {
  const auto refuses = [](ErrorCode code, const std::string& architecture, std::string_view part,
                          const std::function<void(GgufWriter&)>& more) {
    SCOPED_TRACE(part);
    expect_error(code, part, [&] { read(architecture, more); });
  };
  const auto none = [](GgufWriter&) {};
  constexpr auto kUnsupported = ErrorCode::kUnsupported;
  constexpr auto kCorrupt = ErrorCode::kCorruptFile;
  refuses(kUnsupported, "falcon",
          "architecture 'falcon' is not supported, expected one of llama, qwen3, gemma3, gemma4, "
          "qwen35, qwen35moe",
          none);
  refuses(ErrorCode::kNotFound, "gemma3", "gemma3.attention.sliding_window is missing", none);
  refuses(kUnsupported, "llama", "llama.expert_count",
          [](GgufWriter& w) { w.add_u32("llama.expert_count", 8); });
  refuses(kUnsupported, "llama",
          "llama.rope.scaling.type: expected none, linear or yarn, got 'longrope'",
          [](GgufWriter& w) { w.add_string("llama.rope.scaling.type", "longrope"); });
  refuses(kUnsupported, "llama", "llama.rope.scaling.attn_factor is not supported, expected 1",
          [](GgufWriter& w) { w.add_f32("llama.rope.scaling.attn_factor", 1.5f); });
  const auto yarn_with = [](const char* key, float value) {
    return [=](GgufWriter& w) {
      w.add_string("llama.rope.scaling.type", "yarn");
      w.add_f32(std::string("llama.rope.scaling.") + key, value);
    };
  };
  refuses(kUnsupported, "llama", "yarn_ext_factor is not supported, expected 1, got 0.5",
          yarn_with("yarn_ext_factor", 0.5f));
  refuses(kUnsupported, "llama", "yarn_log_multiplier is not supported",
          yarn_with("yarn_log_multiplier", 0.1f));
  refuses(kCorrupt, "llama", "beta_fast: expected", yarn_with("yarn_beta_fast", -1.0f));
  refuses(kCorrupt, "llama", "beta_slow: expected", yarn_with("yarn_beta_slow", 0.0f));
  refuses(kCorrupt, "llama", "attention_factor: expected", yarn_with("yarn_attn_factor", 0.0f));
  refuses(kCorrupt, "llama", "rotary scaling factor: expected", yarn_with("factor", -2.0f));
  refuses(kUnsupported, "llama", "rope.dimension_count: expected key_length 8, got 4",
          [](GgufWriter& w) { w.add_u32("llama.rope.dimension_count", 4); });
  refuses(kUnsupported, "llama", "llama.attention.value_length: expected key_length 8, got 4",
          [](GgufWriter& w) { w.add_u32("llama.attention.value_length", 4); });
  refuses(kUnsupported, "gemma3", "gemma3.final_logit_softcapping",
          [](GgufWriter& w) { w.add_f32("gemma3.final_logit_softcapping", 30); });
  refuses(kUnsupported, "llama", "llama.attention.causal: expected true",
          [](GgufWriter& w) { w.add_bool("llama.attention.causal", false); });
  refuses(kUnsupported, "llama", "expected one value for all layers, got 2 and 1",
          [](GgufWriter& w) { w.add_i32s("llama.attention.head_count_kv", {2, 1}); });
  refuses(kCorrupt, "llama", "got an empty array",
          [](GgufWriter& w) { w.add_i32s("llama.attention.head_count_kv", {}); });
  refuses(kCorrupt, "llama", "divide the 4 heads, got 3",
          [](GgufWriter& w) { w.add_u32("llama.attention.head_count_kv", 3); });
  refuses(kCorrupt, "llama", "expected 4 rotary divisors (half of a head), got 3",
          [](GgufWriter& w) { w.add_f32_tensor("rope_freqs.weight", {3}, {1, 1, 1}); });
  refuses(kCorrupt, "llama", "rotary divisor: expected",
          [](GgufWriter& w) { w.add_f32_tensor("rope_freqs.weight", {4}, {1, 1, 0, 1}); });
  refuses(kUnsupported, "llama", "'rope_freqs.weight': expected a vector of f32",
          [](GgufWriter& w) { w.add_tensor("rope_freqs.weight", {4}, 1, std::string(8, '\0')); });
  refuses(kCorrupt, "llama", "rotary theta: expected", [](GgufWriter& w) {
    w.add_f32("llama.rope.freq_base", std::numeric_limits<float>::quiet_NaN());
  });
  refuses(kCorrupt, "llama", "key 'llama.rope.freq_base': expected a number, got string",
          [](GgufWriter& w) { w.add_string("llama.rope.freq_base", "10000"); });
}

TEST(GgufConfig, AMissingEpsilonIsThatOfTheConfigurationClasses) {
  const TemporaryFolder folder;
  GgufWriter w;
  w.add_string("general.architecture", "llama");
  w.add_u32("llama.embedding_length", 32);
  w.add_u32("llama.block_count", 1);
  w.add_u32("llama.feed_forward_length", 32);
  w.add_u32("llama.attention.head_count", 2);
  w.add_u32("llama.context_length", 64);
  w.add_f32_tensor("token_embd.weight", {32, 10}, std::vector<float>(320));
  EXPECT_EQ(read_gguf_config(GgufFile(folder.write("model.gguf", w.bytes()))).rms_norm_epsilon,
            1e-6);
}

TEST(GgufConfig, MissingKeysAreNamed) {
  const TemporaryFolder folder;
  GgufWriter writer;
  const auto path = [&] { return folder.write("model.gguf", writer.bytes()); };
  const auto refuses = [&](std::string_view part) {
    expect_error(ErrorCode::kNotFound, part, [&] { read_gguf_config(GgufFile(path())); });
  };
  refuses("key general.architecture is missing");
  writer.add_string("general.architecture", "llama");
  refuses("tensor 'token_embd.weight' is missing");
  writer.add_f32_tensor("token_embd.weight", {32, 10}, std::vector<float>(320));
  refuses("key llama.embedding_length is missing");
}

}  // namespace
}  // namespace gumbel
