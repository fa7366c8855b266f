#include "export/gguf/tensor_names.h"

#include <fmt/format.h>

#include <charconv>
#include <span>
#include <utility>
#include <vector>

namespace gumbel {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;
using Names = std::span<const NamePair>;

constexpr NamePair kGlobal[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
};
constexpr NamePair kGlobalOfPerLayerInputs[] = {
    {"per_layer_token_embd.weight", "model.embed_tokens_per_layer.weight"},
    {"per_layer_model_proj.weight", "model.per_layer_model_projection.weight"},
    {"per_layer_proj_norm.weight", "model.per_layer_projection_norm.weight"},
};

// Within a layer: GGUF's names have "blk.N." before them, Hugging Face's "model.layers.N.".
constexpr NamePair kAttention[] = {
    {"attn_norm.weight", "input_layernorm.weight"},    {"attn_q.weight", "self_attn.q_proj.weight"},
    {"attn_k.weight", "self_attn.k_proj.weight"},      {"attn_v.weight", "self_attn.v_proj.weight"},
    {"attn_output.weight", "self_attn.o_proj.weight"},
};
constexpr NamePair kQueryKeyNorms[] = {
    {"attn_q_norm.weight", "self_attn.q_norm.weight"},
    {"attn_k_norm.weight", "self_attn.k_norm.weight"},
};
constexpr NamePair kMlp[] = {
    {"ffn_gate.weight", "mlp.gate_proj.weight"},
    {"ffn_up.weight", "mlp.up_proj.weight"},
    {"ffn_down.weight", "mlp.down_proj.weight"},
};
// Llama and Qwen have one norm before the MLP, Gemma one before and one after each half of a layer.
constexpr NamePair kTwoNorms[] = {{"ffn_norm.weight", "post_attention_layernorm.weight"}};
constexpr NamePair kFourNorms[] = {
    {"post_attention_norm.weight", "post_attention_layernorm.weight"},
    {"ffn_norm.weight", "pre_feedforward_layernorm.weight"},
    {"post_ffw_norm.weight", "post_feedforward_layernorm.weight"},
};
constexpr NamePair kGemma4[] = {{"layer_output_scale.weight", "layer_scalar"}};
constexpr NamePair kGemma4Experts[] = {
    {"ffn_gate_inp.weight", "router.proj.weight"},
    {"ffn_gate_inp.scale", "router.scale"},
    {"ffn_down_exps.scale", "router.per_expert_scale"},
    {"ffn_gate_up_exps.weight", "experts.gate_up_proj"},
    {"ffn_gate_exps.weight", "experts.gate_proj"},
    {"ffn_up_exps.weight", "experts.up_proj"},
    {"ffn_down_exps.weight", "experts.down_proj"},
    {"post_ffw_norm_1.weight", "post_feedforward_layernorm_1.weight"},
    {"pre_ffw_norm_2.weight", "pre_feedforward_layernorm_2.weight"},
    {"post_ffw_norm_2.weight", "post_feedforward_layernorm_2.weight"},
};
constexpr NamePair kPerLayerInputs[] = {
    {"inp_gate.weight", "per_layer_input_gate.weight"},
    {"proj.weight", "per_layer_projection.weight"},
    {"post_norm.weight", "post_per_layer_input_norm.weight"},
};
constexpr NamePair kQwen3_5[] = {
    {"post_attention_norm.weight", "post_attention_layernorm.weight"},
    {"attn_qkv.weight", "linear_attn.in_proj_qkv.weight"},
    {"attn_gate.weight", "linear_attn.in_proj_z.weight"},
    {"ssm_alpha.weight", "linear_attn.in_proj_a.weight"},
    {"ssm_beta.weight", "linear_attn.in_proj_b.weight"},
    {"ssm_conv1d.weight", "linear_attn.conv1d.weight"},
    {"ssm_a", "linear_attn.A"},
    {"ssm_dt.bias", "linear_attn.dt_bias"},
    {"ssm_norm.weight", "linear_attn.norm.weight"},
    {"ssm_out.weight", "linear_attn.out_proj.weight"},
};
constexpr NamePair kQwen3_5Experts[] = {
    {"ffn_gate_inp.weight", "mlp.gate.weight"},
    {"ffn_gate_up_exps.weight", "mlp.experts.gate_up_proj"},
    {"ffn_gate_exps.weight", "mlp.experts.gate_proj"},
    {"ffn_up_exps.weight", "mlp.experts.up_proj"},
    {"ffn_down_exps.weight", "mlp.experts.down_proj"},
    {"ffn_gate_inp_shexp.weight", "mlp.shared_expert_gate.weight"},
    {"ffn_gate_shexp.weight", "mlp.shared_expert.gate_proj.weight"},
    {"ffn_up_shexp.weight", "mlp.shared_expert.up_proj.weight"},
    {"ffn_down_shexp.weight", "mlp.shared_expert.down_proj.weight"},
};

/// The tables of a layer.
std::vector<Names> layer_tables(const ModelConfig& config) {
  const std::string& family = config.architecture;
  if (family == "llama") return {kAttention, kMlp, kTwoNorms};
  if (family == "qwen3") return {kAttention, kQueryKeyNorms, kMlp, kTwoNorms};
  if (family == "gemma3") return {kAttention, kQueryKeyNorms, kMlp, kFourNorms};
  if (family == "gemma4") {
    std::vector<Names> tables = {kAttention, kQueryKeyNorms, kMlp, kFourNorms, kGemma4};
    if (config.experts > 0) tables.emplace_back(kGemma4Experts);
    if (config.per_layer_input_size > 0) tables.emplace_back(kPerLayerInputs);
    return tables;
  }
  if (family == "qwen3_5") return {kAttention, kQueryKeyNorms, kQwen3_5, kMlp};
  if (family == "qwen3_5_moe") return {kAttention, kQueryKeyNorms, kQwen3_5, kQwen3_5Experts};
  return {};
}

std::string_view look_up(Names names, std::string_view name) {
  for (const auto& [gguf, hugging_face] : names)
    if (gguf == name) return hugging_face;
  return {};
}

}  // namespace

std::optional<int64_t> gguf_layer(std::string_view name, std::string_view* part) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  uint32_t layer = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), layer);
  const auto digits = static_cast<size_t>(end - name.data());
  // One spelling of a number, so that two names cannot mean one tensor.
  if (error != std::errc{} || digits == name.size() || name[digits] != '.' ||
      (digits > 1 && name.front() == '0'))
    return std::nullopt;
  if (part != nullptr) *part = name.substr(digits + 1);
  return layer;
}

bool is_prediction_tensor(std::string_view name, const ModelConfig& config) {
  const auto layer = gguf_layer(name);
  return layer && *layer >= config.layers && *layer < config.layers + config.prediction_layers;
}

std::optional<std::string> hugging_face_name(std::string_view name, const ModelConfig& config) {
  std::string_view found = look_up(kGlobal, name);
  if (found.empty() && config.per_layer_input_size > 0)
    found = look_up(kGlobalOfPerLayerInputs, name);
  if (!found.empty()) return std::string(found);
  std::string_view part;
  const auto layer = gguf_layer(name, &part);
  if (!layer || *layer >= config.layers) return std::nullopt;
  for (const Names table : layer_tables(config))
    if (const auto own = look_up(table, part); !own.empty())
      return fmt::format("model.layers.{}.{}", *layer, own);
  return std::nullopt;
}

}  // namespace gumbel
