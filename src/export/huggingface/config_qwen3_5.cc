// Qwen3.5's config.json. Files leave out what equals Qwen3_5TextConfig's and Qwen3_5MoeTextConfig's
// defaults.
#include <cmath>

#include "base/error.h"
#include "export/huggingface/config_fields.h"

namespace gumbel {
namespace {

ModelConfig read_common(const JsonFields& fields, int64_t hidden_size, int64_t layers,
                        int64_t kv_heads) {
  ModelConfig config;
  config.vocab_size = fields.integer("vocab_size").value_or(248'320);
  config.hidden_size = fields.integer("hidden_size").value_or(hidden_size);
  config.layers = read_layer_count(fields, layers);
  config.heads = fields.integer("num_attention_heads").value_or(16);
  config.kv_heads = fields.integer("num_key_value_heads").value_or(kv_heads);
  config.head_dim = fields.integer("head_dim").value_or(256);
  config.max_positions = fields.integer("max_position_embeddings").value_or(32'768);
  config.rms_norm_epsilon = fields.number("rms_norm_eps").value_or(1e-6);
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  config.tied_embeddings = fields.boolean("tie_word_embeddings").value_or(false);

  // Text has one position for all three of the axes that mrope_section tells apart.
  config.rotary.partial_factor = fields.number("partial_rotary_factor").value_or(0.25);
  config.rotary.theta = fields.number("rope_theta").value_or(10'000'000.0);
  const Context context{config.max_positions, fields.integer("original_max_position_embeddings")};
  for (const char* key : {"rope_scaling", "rope_parameters"})
    if (const auto parameters = fields.object(key)) {
      config.rotary.theta = parameters->number("rope_theta").value_or(config.rotary.theta);
      read_scaling(*parameters, context, config.rotary);
    }
  config.rotary_local = config.rotary;

  config.layer_kinds =
      read_layer_types(fields, {"linear_attention", "full_attention"})
          .value_or(every_nth_full(fields, config.layers, LayerKind::kLinearAttention,
                                   "full_attention_interval",
                                   fields.integer("full_attention_interval").value_or(4)));
  config.linear_key_heads = fields.integer("linear_num_key_heads").value_or(16);
  config.linear_value_heads = fields.integer("linear_num_value_heads").value_or(32);
  config.linear_key_dim = fields.integer("linear_key_head_dim").value_or(128);
  config.linear_value_dim = fields.integer("linear_value_head_dim").value_or(128);
  config.linear_conv_width = fields.integer("linear_conv_kernel_dim").value_or(4);
  require_string(fields, "hidden_act", "silu");
  refuse_enabled(fields, "attention_bias");
  if (!fields.boolean("attn_output_gate").value_or(true))
    fail(ErrorCode::kUnsupported, "{}: attn_output_gate: expected true, got false", fields.where());
  return config;
}

}  // namespace

ModelConfig read_qwen3_5(const JsonFields& fields) {
  ModelConfig config = read_common(fields, 4096, 32, 4);
  config.architecture = "qwen3_5";
  config.intermediate_size = fields.integer("intermediate_size").value_or(12'288);
  return config;
}

ModelConfig read_qwen3_5_moe(const JsonFields& fields) {
  ModelConfig config = read_common(fields, 2048, 40, 2);
  config.architecture = "qwen3_5_moe";
  config.experts = fields.integer("num_experts").value_or(256);
  config.experts_per_token = fields.integer("num_experts_per_tok").value_or(8);
  config.expert_intermediate_size = fields.integer("moe_intermediate_size").value_or(512);
  config.shared_expert_intermediate_size =
      fields.integer("shared_expert_intermediate_size").value_or(512);
  if (config.experts < 1)
    fail(ErrorCode::kCorruptFile, "{}: num_experts: expected at least 1, got {}", fields.where(),
         config.experts);
  if (const nlohmann::json* dense = fields.find("mlp_only_layers");
      dense != nullptr && !dense->empty())
    fail(ErrorCode::kUnsupported, "{}: mlp_only_layers: expected none", fields.where());
  return config;
}

}  // namespace gumbel
