#include <gtest/gtest.h>

#include <functional>

#include "export/gguf/config_reading.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using test::expect_error;
using test::GgufWriter;

using Change = std::function<void(GgufWriter&)>;

/// Layers 5 and 11 of the 12 are full; heads of 8, in full layers of 16, whose last 6 pairs stop.
/// What `without` names is left out, for `more` to give.
ModelConfig read(const Change& more, std::string_view without = "") {
  return test::read_config("gemma4", [&](GgufWriter& w) {
    const auto add = [&](const std::string& name, const auto& write) {
      if (name != without) write("gemma4." + name);
    };
    const auto u32 = [&](const std::string& name, uint32_t value) {
      add(name, [&](const std::string& key) { w.add_u32(key, value); });
    };
    u32("attention.key_length", 16);
    u32("attention.value_length", 16);
    u32("attention.key_length_swa", 8);
    u32("attention.value_length_swa", 8);
    u32("attention.sliding_window", 512);
    add("attention.sliding_window_pattern",
        [&](const std::string& key) { w.add_i32s(key, {1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 0}); });
    u32("rope.dimension_count", 16);
    u32("rope.dimension_count_swa", 8);
    u32("feed_forward_length", 64);
    if (without != "rope_freqs.weight")
      w.add_f32_tensor("rope_freqs.weight", {8}, {1, 1, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f});
    more(w);
  });
}

void add_values(GgufWriter& w, std::initializer_list<int> layers) {
  for (const int layer : layers)
    w.add_f32_tensor("blk." + std::to_string(layer) + ".attn_v.weight", {1}, {1});
}

TEST(GgufConfigGemma4, Dense) {
  const ModelConfig c = read([](GgufWriter& w) {
    w.add_i32s("gemma4.attention.head_count_kv", {2, 2, 2, 2, 2, 1, 2, 2, 2, 2, 2, 1});
    w.add_f32("gemma4.final_logit_softcapping", 30);
    w.add_f32("gemma4.rope.freq_base", 1e6f);
    w.add_f32("gemma4.rope.freq_base_swa", 5000);
    w.add_u32("gemma4.attention.shared_kv_layers", 0);
    w.add_u32("gemma4.embedding_length_per_layer_input", 0);
  });
  EXPECT_EQ(c.architecture, "gemma4");
  EXPECT_EQ(c.heads, 4);
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.full_kv_heads, 1);
  EXPECT_EQ(c.head_dim, 8);
  EXPECT_EQ(c.full_head_dim, 16);
  EXPECT_EQ(c.attention_scale, 1.0);
  EXPECT_EQ(c.final_logit_softcap, 30.0);
  EXPECT_EQ(c.sliding_window, 512);
  EXPECT_EQ(c.intermediate_size, 64);
  for (size_t layer = 0; layer < 12; ++layer)
    EXPECT_EQ(c.layer_kinds[layer] == LayerKind::kFullAttention, layer == 5 || layer == 11);
  EXPECT_TRUE(c.keys_are_values);
  EXPECT_EQ(c.rotary.theta, 1e6);
  EXPECT_TRUE(c.rotary.proportional);
  EXPECT_EQ(c.rotary.partial_factor, 0.25);
  EXPECT_TRUE(c.rotary.divisors.empty());
  EXPECT_EQ(c.rotary_local.theta, 5000.0);
  EXPECT_EQ(c.rotary_local.partial_factor, 1.0);
  EXPECT_FALSE(c.rotary_local.proportional);
  EXPECT_EQ(c.experts, 0);
  EXPECT_EQ(c.kv_shared_layers, 0);
  EXPECT_FALSE(c.double_wide_mlp);
  EXPECT_EQ(c.per_layer_input_size, 0);
}

TEST(GgufConfigGemma4, SharedLayersAndPerLayerInputs) {
  const ModelConfig c = read(
      [](GgufWriter& w) {
        w.add_u32("gemma4.attention.head_count_kv", 2);
        w.add_u32("gemma4.attention.shared_kv_layers", 6);
        w.add_i32s("gemma4.feed_forward_length",
                   {64, 64, 64, 64, 64, 64, 128, 128, 128, 128, 128, 128});
        w.add_u32("gemma4.embedding_length_per_layer_input", 2);
        w.add_f32_tensor("per_layer_token_embd.weight", {24, 7}, std::vector<float>(168));
        add_values(w, {5});
      },
      "feed_forward_length");
  EXPECT_EQ(c.kv_heads, 2);
  EXPECT_EQ(c.full_kv_heads, 2);
  EXPECT_EQ(c.kv_shared_layers, 6);
  EXPECT_EQ(c.intermediate_size, 64);
  EXPECT_TRUE(c.double_wide_mlp);
  EXPECT_EQ(c.per_layer_input_size, 2);
  EXPECT_EQ(c.per_layer_vocab_size, 7);
  EXPECT_FALSE(c.keys_are_values);
}

TEST(GgufConfigGemma4, ExpertsWhereTheFirstLayerHasAGate) {
  const auto keys = [](GgufWriter& w) {
    w.add_u32("gemma4.expert_count", 8);
    w.add_u32("gemma4.expert_used_count", 3);
    w.add_u32("gemma4.expert_feed_forward_length", 40);
  };
  EXPECT_EQ(read(keys).experts, 0);
  const ModelConfig c = read([&](GgufWriter& w) {
    keys(w);
    w.add_f32_tensor("blk.0.ffn_gate_inp.weight", {1}, {1});
  });
  EXPECT_EQ(c.experts, 8);
  EXPECT_EQ(c.experts_per_token, 3);
  EXPECT_EQ(c.expert_intermediate_size, 40);
}

TEST(GgufConfigGemma4, OtherRotaryEmbeddingsOfFullLayers) {
  const auto with = [](const std::vector<float>& divisors) {
    return read([&](GgufWriter& w) { w.add_f32_tensor("rope_freqs.weight", {8}, divisors); },
                "rope_freqs.weight")
        .rotary;
  };
  const RotaryConfig all = with(std::vector<float>(8, 1));
  EXPECT_FALSE(all.proportional);
  EXPECT_EQ(all.partial_factor, 1.0);
  const RotaryConfig both = with({1, 2, 4, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f});
  EXPECT_TRUE(both.proportional);
  EXPECT_EQ(both.partial_factor, 0.375);
  EXPECT_EQ(both.divisors, (std::vector<float>{1, 2, 4, 1, 1, 1, 1, 1}));
  const RotaryConfig none = read([](GgufWriter&) {}, "rope_freqs.weight").rotary;
  EXPECT_FALSE(none.proportional);
  EXPECT_EQ(none.partial_factor, 1.0);
}

TEST(GgufConfigGemma4, WhatItCannotHonourIsRefusedByName) {
  const auto refuses = [](ErrorCode code, std::string_view part, const Change& more,
                          std::string_view without = "") {
    SCOPED_TRACE(part);
    expect_error(code, part, [&] { read(more, without); });
  };
  constexpr auto kUnsupported = ErrorCode::kUnsupported;
  constexpr auto kCorrupt = ErrorCode::kCorruptFile;
  constexpr auto kNotFound = ErrorCode::kNotFound;
  const auto none = [](GgufWriter&) {};
  const auto u32 = [](const std::string& name, uint32_t value) {
    return [=](GgufWriter& w) { w.add_u32("gemma4." + name, value); };
  };
  const auto i32s = [](const std::string& name, const std::vector<int32_t>& values) {
    return [=](GgufWriter& w) { w.add_i32s("gemma4." + name, values); };
  };
  const auto freqs = [](const std::vector<float>& divisors) {
    return
        [=](GgufWriter& w) { w.add_f32_tensor("rope_freqs.weight", {divisors.size()}, divisors); };
  };
  const std::string window = "attention.sliding_window";
  const std::string pattern = "attention.sliding_window_pattern";
  refuses(kNotFound, "gemma4.attention.sliding_window is missing", none, window);
  refuses(kNotFound, "sliding_window_pattern: expected an array of one entry a layer", none,
          pattern);
  refuses(kNotFound, "sliding_window_pattern: expected an array", u32(pattern, 6), pattern);
  refuses(kCorrupt, "sliding_window_pattern: expected an entry for each of 12 layers, got 3",
          i32s(pattern, {1, 1, 0}), pattern);
  const std::string kv = "attention.head_count_kv";
  refuses(kUnsupported, "head_count_kv: expected one value for all layers of a kind, got 2 and 1",
          i32s(kv, {2, 1, 2, 2, 2, 1, 2, 2, 2, 2, 2, 1}));
  refuses(kCorrupt, "head_count_kv: expected an entry for each of 12 layers, got 0", i32s(kv, {}));
  refuses(kCorrupt, "key-value heads: expected 1 to 4, got 0", u32(kv, 0));
  refuses(kUnsupported, "value_length: expected key_length 16, got 8",
          u32("attention.value_length", 8), "attention.value_length");
  refuses(kUnsupported, "value_length_swa: expected key_length_swa 8, got 9",
          u32("attention.value_length_swa", 9), "attention.value_length_swa");
  refuses(kCorrupt, "rope.dimension_count_swa: expected 2 to 8, the head's size, got 10",
          u32("rope.dimension_count_swa", 10), "rope.dimension_count_swa");
  refuses(kUnsupported, "rope.dimension_count: expected key_length 16 beside a tensor 'rope_freqs",
          u32("rope.dimension_count", 4), "rope.dimension_count");
  refuses(kCorrupt, "expected 8 rotary divisors (half of a head), got 3", freqs({1, 1, 1e30f}),
          "rope_freqs.weight");
  refuses(kCorrupt, "rotary divisor: expected",
          freqs({1, 1e30f, 1, 1e30f, 1e30f, 1e30f, 1e30f, 1e30f}), "rope_freqs.weight");
  refuses(kCorrupt, "rotated elements of a head: expected 2", freqs(std::vector(8, 1e30f)),
          "rope_freqs.weight");
  refuses(kCorrupt, "shared_kv_layers: expected 0 to 11, got 12",
          u32("attention.shared_kv_layers", 12));
  refuses(kCorrupt, "layer 5 shares keys and values", u32("attention.shared_kv_layers", 8));
  const std::string mlp = "feed_forward_length";
  refuses(
      kUnsupported, "feed_forward_length: expected 64, and twice as much",
      [&](GgufWriter& w) { i32s(mlp, {64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 96})(w); }, mlp);
  refuses(
      kUnsupported, "got 64 in layer 8",
      [&](GgufWriter& w) {
        u32("attention.shared_kv_layers", 6)(w);
        i32s(mlp, {64, 64, 64, 64, 64, 64, 128, 128, 64, 128, 128, 128})(w);
      },
      mlp);
  refuses(kUnsupported, "'blk.N.attn_v.weight' in all full-attention layers or in none, layer 11",
          [](GgufWriter& w) { add_values(w, {5}); });
  refuses(kNotFound, "'per_layer_token_embd.weight' is missing",
          u32("embedding_length_per_layer_input", 4));
  const auto gate = [](const Change& more) {
    return [=](GgufWriter& w) {
      w.add_f32_tensor("blk.0.ffn_gate_inp.weight", {1}, {1});
      w.add_u32("gemma4.expert_count", 8);
      more(w);
    };
  };
  refuses(kNotFound, "gemma4.expert_used_count is missing", gate(none));
  refuses(kCorrupt, "experts per token: expected 1 to 8, got 9", gate(u32("expert_used_count", 9)));
  refuses(kCorrupt, "expert intermediate size: expected 1", gate(u32("expert_used_count", 2)));
  refuses(kUnsupported, "gemma4.expert_gating_func is not supported, expected 1, got 2",
          gate([&](GgufWriter& w) {
            u32("expert_used_count", 2)(w);
            u32("expert_gating_func", 2)(w);
          }));
}

}  // namespace
}  // namespace gumbel
