#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "export/gguf/config_fields.h"
#include "export/gguf/config_reading.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using test::expect_error;
using test::GgufWriter;

using Change = std::function<void(GgufWriter&)>;

/// Heads of 8; a delta net of 2 key heads and 6 value heads of 4. What `without` names is left out,
/// for `more` to give.
ModelConfig read(const std::string& architecture, const Change& more,
                 std::string_view without = "") {
  return test::read_config(architecture, [&](GgufWriter& w) {
    const auto u32 = [&](const std::string& name, uint32_t value) {
      if (name != without) w.add_u32(architecture + "." + name, value);
    };
    u32("attention.head_count_kv", 2);
    u32("rope.dimension_count", 2);
    u32("ssm.conv_kernel", 4);
    u32("ssm.state_size", 4);
    u32("ssm.group_count", 2);
    u32("ssm.time_step_rank", 6);
    u32("ssm.inner_size", 24);
    if (architecture == "qwen35") u32("feed_forward_length", 64);
    if (architecture == "qwen35moe") {
      u32("expert_count", 8);
      u32("expert_used_count", 3);
      u32("expert_feed_forward_length", 40);
    }
    more(w);
  });
}

void nothing(GgufWriter&) {}

TEST(GgufConfigQwen3_5, Dense) {
  const ModelConfig c = read("qwen35", [](GgufWriter& w) {
    w.add_f32("qwen35.rope.freq_base", 5e6f);
    w.add_i32s("qwen35.rope.dimension_sections", {1, 0, 0, 0});
    w.add_u32("qwen35.full_attention_interval", 3);
  });
  EXPECT_EQ(c.architecture, "qwen3_5");
  EXPECT_EQ(c.layers, 12);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.head_dim, 8);
  EXPECT_EQ(c.attention_scale, 1 / std::sqrt(8.0));
  EXPECT_EQ(c.intermediate_size, 64);
  EXPECT_EQ(c.experts, 0);
  EXPECT_EQ(c.rotary.theta, 5e6);
  EXPECT_EQ(c.rotary.partial_factor, 0.25);
  EXPECT_FALSE(c.rotary.proportional);
  EXPECT_EQ(c.linear_key_heads, 2);
  EXPECT_EQ(c.linear_value_heads, 6);
  EXPECT_EQ(c.linear_key_dim, 4);
  EXPECT_EQ(c.linear_value_dim, 4);
  EXPECT_EQ(c.linear_conv_width, 4);
  EXPECT_EQ(c.linear_head_order, HeadOrder::kTiled);
  for (size_t layer = 0; layer < 12; ++layer)
    EXPECT_EQ(c.layer_kinds[layer] == LayerKind::kFullAttention, layer % 3 == 2) << layer;
}

TEST(GgufConfigQwen3_5, Experts) {
  const ModelConfig c = read("qwen35moe", [](GgufWriter& w) {
    w.add_u32("qwen35moe.expert_shared_feed_forward_length", 48);
  });
  EXPECT_EQ(c.architecture, "qwen3_5_moe");
  EXPECT_EQ(c.experts, 8);
  EXPECT_EQ(c.experts_per_token, 3);
  EXPECT_EQ(c.expert_intermediate_size, 40);
  EXPECT_EQ(c.shared_expert_intermediate_size, 48);
  for (size_t layer = 0; layer < 12; ++layer)
    EXPECT_EQ(c.layer_kinds[layer] == LayerKind::kFullAttention, layer % 4 == 3) << layer;
}

TEST(GgufConfigQwen3_5, LayersThatPredictFurtherTokensAreLeftOut) {
  const ModelConfig c = read("qwen35", [](GgufWriter& w) {
    w.add_u32("qwen35.nextn_predict_layers", 2);
    w.add_i32s("qwen35.attention.recurrent_layers", {1, 1, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0});
  });
  EXPECT_EQ(c.layers, 10);
  EXPECT_EQ(c.prediction_layers, 2);
  ASSERT_EQ(c.layer_kinds.size(), 10u);
  for (size_t layer = 0; layer < 10; ++layer)
    EXPECT_EQ(c.layer_kinds[layer] == LayerKind::kFullAttention, layer == 2 || layer == 9);
}

TEST(GgufConfigQwen3_5, WhatItCannotHonourIsRefusedByName) {
  const auto refuses = [](ErrorCode code, std::string_view part, const std::string& name,
                          std::optional<uint32_t> value) {
    SCOPED_TRACE(part);
    expect_error(code, part, [&] {
      read(
          "qwen35moe",
          [&](GgufWriter& w) {
            if (value) w.add_u32("qwen35moe." + name, *value);
          },
          name);
    });
  };
  constexpr auto kUnsupported = ErrorCode::kUnsupported;
  constexpr auto kCorrupt = ErrorCode::kCorruptFile;
  for (const std::string name :
       {"ssm.conv_kernel", "ssm.state_size", "ssm.group_count", "ssm.time_step_rank",
        "ssm.inner_size", "expert_count", "expert_used_count"})
    refuses(ErrorCode::kNotFound, "key qwen35moe." + name + " is missing", name, std::nullopt);
  refuses(kCorrupt, "expected qwen35moe.ssm.inner_size of a multiple of", "ssm.inner_size", 25);
  refuses(kCorrupt, "expected qwen35moe.ssm.inner_size of a multiple of", "ssm.inner_size", 0);
  refuses(kCorrupt, "ssm.time_step_rank, 1 or more", "ssm.time_step_rank", 0);
  refuses(kCorrupt, "key heads that divide the 6 value heads, got 4", "ssm.group_count", 4);
  refuses(kCorrupt, "linear attention's key heads: expected 1 to 6, got 7", "ssm.group_count", 7);
  refuses(kCorrupt, "linear attention's key head size: expected 1", "ssm.state_size", 0);
  refuses(kCorrupt, "linear attention's convolution: expected 2 to 64, got 1", "ssm.conv_kernel",
          1);
  refuses(kCorrupt, "rope.dimension_count: expected 2 to 8", "rope.dimension_count", 12);
  refuses(kCorrupt, "rotated elements of a head: expected an even number, got 3",
          "rope.dimension_count", 3);
  refuses(kCorrupt, "full_attention_interval: expected at least 1, got 0",
          "full_attention_interval", 0);
  refuses(kCorrupt, "nextn_predict_layers: expected 0 to 11, got 12", "nextn_predict_layers", 12);
  refuses(kCorrupt, "experts per token: expected 1 to 8, got 9", "expert_used_count", 9);
  refuses(kCorrupt, "experts: expected 1 to 65536", "expert_count", 65537);
  refuses(kUnsupported, "expert_gating_func is not supported, expected 1, got 2",
          "expert_gating_func", 2);
  refuses(kUnsupported, "expert_weights_scale is not supported", "expert_weights_scale", 2);
  refuses(kUnsupported, "expert_group_count is not supported", "expert_group_count", 4);
  refuses(kUnsupported, "final_logit_softcapping is not supported", "final_logit_softcapping", 30);
  expect_error(kUnsupported, "qwen35.expert_count is not supported, expected 0, got 8",
               [] { read("qwen35", [](GgufWriter& w) { w.add_u32("qwen35.expert_count", 8); }); });
  expect_error(kCorrupt, "recurrent_layers: expected an entry for each of 12 layers, got 2", [] {
    read("qwen35", [](GgufWriter& w) { w.add_i32s("qwen35.attention.recurrent_layers", {1, 0}); });
  });
  expect_error(kUnsupported, "tensor 'rope_freqs.weight' is not supported", [] {
    read("qwen35", [](GgufWriter& w) { w.add_f32_tensor("rope_freqs.weight", {4}, {1, 1, 1, 1}); });
  });
  EXPECT_NO_THROW(read("qwen35", nothing));
}

TEST(GgufConfigQwen3_5, PartialFactorsGiveBackWhatIsRotated) {
  for (int64_t head_dim = 2; head_dim <= 514; head_dim += 2)
    for (int64_t rotated = 2; rotated <= head_dim; rotated += 2) {
      const double factor = partial_rotary_factor(rotated, head_dim);
      ASSERT_EQ(static_cast<int64_t>(factor * static_cast<double>(head_dim)), rotated) << head_dim;
      ASSERT_LE(factor, 1.0);
    }
}

}  // namespace
}  // namespace gumbel
