#include "export/gguf/tensor_names.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "export/gguf/checkpoint.h"
#include "export/gguf/writer.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using Names = std::vector<std::pair<const char*, const char*>>;  // GGUF's, Hugging Face's

ModelConfig config_of(const std::string& architecture) {
  ModelConfig config;
  config.architecture = architecture;
  config.layers = 3;
  config.head_dim = 2;
  return config;
}

void expect_names(const ModelConfig& config, const Names& names) {
  for (const auto& [gguf, hugging_face] : names)
    EXPECT_EQ(hugging_face_name(gguf, config), hugging_face) << gguf;
}

void expect_none(const ModelConfig& config, const Names& names) {
  for (const auto& [gguf, _] : names)
    EXPECT_EQ(hugging_face_name(gguf, config), std::nullopt) << gguf;
}

// As transformers 5.24 names the parameters of Gemma4ForCausalLM and Qwen3_5MoeForCausalLM and
// llama.cpp's tensor_mapping.py maps them; experts' names have no ".weight", their gate and up
// projections are split.
const Names kGemma4Experts = {
    {"blk.2.ffn_gate_inp.weight", "model.layers.2.router.proj.weight"},
    {"blk.2.ffn_gate_inp.scale", "model.layers.2.router.scale"},
    {"blk.2.ffn_down_exps.scale", "model.layers.2.router.per_expert_scale"},
    {"blk.2.ffn_gate_up_exps.weight", "model.layers.2.experts.gate_up_proj"},
    {"blk.2.ffn_gate_exps.weight", "model.layers.2.experts.gate_proj"},
    {"blk.2.ffn_up_exps.weight", "model.layers.2.experts.up_proj"},
    {"blk.2.ffn_down_exps.weight", "model.layers.2.experts.down_proj"},
    {"blk.2.post_ffw_norm_1.weight", "model.layers.2.post_feedforward_layernorm_1.weight"},
    {"blk.2.pre_ffw_norm_2.weight", "model.layers.2.pre_feedforward_layernorm_2.weight"},
    {"blk.2.post_ffw_norm_2.weight", "model.layers.2.post_feedforward_layernorm_2.weight"},
};
const Names kPerLayerInputs = {
    {"per_layer_token_embd.weight", "model.embed_tokens_per_layer.weight"},
    {"per_layer_model_proj.weight", "model.per_layer_model_projection.weight"},
    {"per_layer_proj_norm.weight", "model.per_layer_projection_norm.weight"},
    {"blk.0.inp_gate.weight", "model.layers.0.per_layer_input_gate.weight"},
    {"blk.0.proj.weight", "model.layers.0.per_layer_projection.weight"},
    {"blk.0.post_norm.weight", "model.layers.0.post_per_layer_input_norm.weight"},
};
const Names kDeltaNet = {
    {"blk.1.post_attention_norm.weight", "model.layers.1.post_attention_layernorm.weight"},
    {"blk.1.attn_qkv.weight", "model.layers.1.linear_attn.in_proj_qkv.weight"},
    {"blk.1.attn_gate.weight", "model.layers.1.linear_attn.in_proj_z.weight"},
    {"blk.1.ssm_alpha.weight", "model.layers.1.linear_attn.in_proj_a.weight"},
    {"blk.1.ssm_beta.weight", "model.layers.1.linear_attn.in_proj_b.weight"},
    {"blk.1.ssm_conv1d.weight", "model.layers.1.linear_attn.conv1d.weight"},
    {"blk.1.ssm_a", "model.layers.1.linear_attn.A"},
    {"blk.1.ssm_dt.bias", "model.layers.1.linear_attn.dt_bias"},
    {"blk.1.ssm_norm.weight", "model.layers.1.linear_attn.norm.weight"},
    {"blk.1.ssm_out.weight", "model.layers.1.linear_attn.out_proj.weight"},
};
const Names kQwen3_5Experts = {
    {"blk.1.ffn_gate_inp.weight", "model.layers.1.mlp.gate.weight"},
    {"blk.1.ffn_gate_up_exps.weight", "model.layers.1.mlp.experts.gate_up_proj"},
    {"blk.1.ffn_gate_exps.weight", "model.layers.1.mlp.experts.gate_proj"},
    {"blk.1.ffn_up_exps.weight", "model.layers.1.mlp.experts.up_proj"},
    {"blk.1.ffn_down_exps.weight", "model.layers.1.mlp.experts.down_proj"},
    {"blk.1.ffn_gate_inp_shexp.weight", "model.layers.1.mlp.shared_expert_gate.weight"},
    {"blk.1.ffn_gate_shexp.weight", "model.layers.1.mlp.shared_expert.gate_proj.weight"},
    {"blk.1.ffn_up_shexp.weight", "model.layers.1.mlp.shared_expert.up_proj.weight"},
    {"blk.1.ffn_down_shexp.weight", "model.layers.1.mlp.shared_expert.down_proj.weight"},
};
const Names kDense = {{"blk.0.ffn_gate.weight", "model.layers.0.mlp.gate_proj.weight"},
                      {"blk.0.ffn_up.weight", "model.layers.0.mlp.up_proj.weight"},
                      {"blk.0.ffn_down.weight", "model.layers.0.mlp.down_proj.weight"}};

TEST(GgufTensorNames, Gemma4HasWhatItsConfigurationSays) {
  ModelConfig config = config_of("gemma4");
  expect_names(config, kDense);
  expect_names(config,
               {{"blk.2.layer_output_scale.weight", "model.layers.2.layer_scalar"},
                {"blk.2.post_ffw_norm.weight", "model.layers.2.post_feedforward_layernorm.weight"},
                {"blk.2.attn_q_norm.weight", "model.layers.2.self_attn.q_norm.weight"}});
  expect_none(config, kGemma4Experts);
  expect_none(config, kPerLayerInputs);
  expect_none(config, {{"blk.1.ssm_a", ""}, {"blk.1.attn_qkv.weight", ""}});
  config.experts = 8;
  expect_names(config, kGemma4Experts);
  config.per_layer_input_size = 4;
  expect_names(config, kPerLayerInputs);
}

TEST(GgufTensorNames, Qwen3_5) {
  expect_names(config_of("qwen3_5"), kDeltaNet);
  expect_names(config_of("qwen3_5"), kDense);
  expect_none(config_of("qwen3_5"), kQwen3_5Experts);
  expect_names(config_of("qwen3_5_moe"), kDeltaNet);
  expect_names(config_of("qwen3_5_moe"), kQwen3_5Experts);
  expect_none(config_of("qwen3_5_moe"), kDense);
  expect_none(config_of("qwen3"), kDeltaNet);
}

TEST(GgufTensorNames, LayersForFurtherTokensAreLeftOut) {
  ModelConfig config = config_of("qwen3_5");
  EXPECT_FALSE(is_prediction_tensor("blk.3.nextn.eh_proj.weight", config));
  config.prediction_layers = 1;
  EXPECT_TRUE(is_prediction_tensor("blk.3.nextn.eh_proj.weight", config));
  EXPECT_TRUE(is_prediction_tensor("blk.3.attn_q.weight", config));
  for (const char* name : {"blk.2.attn_q.weight", "blk.4.attn_q.weight", "output.weight"})
    EXPECT_FALSE(is_prediction_tensor(name, config)) << name;

  const test::TemporaryFolder folder;
  test::GgufWriter writer;
  writer.add_f32_tensor("blk.3.attn_q.weight", {1}, {1});
  writer.add_f32_tensor("blk.2.attn_q.weight", {1}, {1});
  const auto path = folder.write("m.gguf", writer.bytes());
  const auto checkpoint = gguf_checkpoint(std::make_shared<const GgufFile>(path), config);
  EXPECT_TRUE(checkpoint->has("model.layers.2.self_attn.q_proj.weight"));
  EXPECT_FALSE(checkpoint->has("model.layers.3.self_attn.q_proj.weight"));
}

// Experts' matrices [E, N, K] lie one after the other; of fused ones the halves are views.
TEST(GgufTensorNames, RowsOfExpertsKeepTheirBlocks) {
  constexpr uint64_t kExperts = 3, kRows = 4;
  std::string data;  // q8_0: a scale that tells the row, and codes
  for (uint64_t row = 0; row < kExperts * kRows; ++row) {
    data += test::encode(static_cast<uint16_t>(0x3C00 + row));
    for (uint64_t column = 0; column < 32; ++column) data += static_cast<char>(row * 7 + column);
  }
  const test::TemporaryFolder folder;
  test::GgufWriter writer;
  writer.add_tensor("blk.0.ffn_down_exps.weight", {32, kRows, kExperts}, 8, data);
  writer.add_tensor("blk.0.ffn_gate_up_exps.weight", {32, kRows, kExperts}, 8, data);
  writer.add_f32_tensor("blk.0.ffn_gate_inp_shexp.weight", {2}, {5, 6});
  writer.add_f32_tensor("blk.0.ssm_conv1d.weight", {2, 3}, {1, 2, 3, 4, 5, 6});
  const auto file = std::make_shared<const GgufFile>(folder.write("m.gguf", writer.bytes()));
  const auto checkpoint = gguf_checkpoint(file, config_of("qwen3_5_moe"));
  const std::string prefix = "model.layers.0.mlp.";

  WeightRows all;
  checkpoint->tensor(prefix + "experts.down_proj", {3, 4, 32}).read_rows(0, 12, all);
  ASSERT_EQ(all.type, WeightType::kQ8_0);
  for (size_t row = 0; row < 12; ++row)
    EXPECT_EQ(element(all, static_cast<int64_t>(row), 3),
              (1.0f + static_cast<float>(row) / 1024) * static_cast<float>(row * 7 + 3))
        << row;
  for (const auto& [name, first] : {std::pair{"gate_proj", 0}, {"up_proj", 2}}) {
    WeightRows half;
    checkpoint->tensor(prefix + "experts." + name, {3, 2, 32}).read_rows(1, 5, half);
    ASSERT_EQ(half.rows, 5);
    for (size_t row = 0; row < 5; ++row) {
      const size_t source = (row + 1) / 2 * 4 + (row + 1) % 2 + static_cast<size_t>(first);
      EXPECT_EQ(half.scale[row], all.scale[source]) << name << ' ' << row;
      EXPECT_TRUE(std::equal(half.codes.begin() + static_cast<ptrdiff_t>(row * 32),
                             half.codes.begin() + static_cast<ptrdiff_t>(row * 32 + 32),
                             all.codes.begin() + static_cast<ptrdiff_t>(source * 32)));
    }
  }

  WeightRows floats;
  checkpoint->tensor(prefix + "shared_expert_gate.weight", {1, 2}).read_rows(0, 1, floats);
  EXPECT_EQ(floats.floats, (std::vector<float>{5, 6}));
  checkpoint->tensor("model.layers.0.linear_attn.conv1d.weight", {3, 1, 2}).read_rows(0, 3, floats);
  EXPECT_EQ(floats.floats, (std::vector<float>{1, 2, 3, 4, 5, 6}));
}

}  // namespace
}  // namespace gumbel
