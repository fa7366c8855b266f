// Gemma 4's config.json. Files leave out what equals Gemma4TextConfig's defaults.
#include "base/error.h"
#include "export/huggingface/config_fields.h"

namespace gumbel {

ModelConfig read_gemma4(const JsonFields& fields) {
  ModelConfig config;
  config.architecture = "gemma4";
  config.vocab_size = fields.integer("vocab_size").value_or(262'144);
  config.hidden_size = fields.integer("hidden_size").value_or(2304);
  config.intermediate_size = fields.integer("intermediate_size").value_or(9216);
  config.layers = read_layer_count(fields, 30);
  config.heads = fields.integer("num_attention_heads").value_or(8);
  config.kv_heads = fields.integer("num_key_value_heads").value_or(4);
  config.head_dim = fields.integer("head_dim").value_or(256);
  config.keys_are_values = fields.boolean("attention_k_eq_v").value_or(false);
  config.full_head_dim = fields.integer("global_head_dim").value_or(512);
  config.full_kv_heads =
      config.keys_are_values
          ? fields.integer("num_global_key_value_heads").value_or(config.kv_heads)
          : config.kv_heads;
  config.max_positions = fields.integer("max_position_embeddings").value_or(131'072);
  config.rms_norm_epsilon = fields.number("rms_norm_eps").value_or(1e-6);
  config.attention_scale = 1.0;
  config.sliding_window = fields.integer("sliding_window").value_or(512);
  config.tied_embeddings = fields.boolean("tie_word_embeddings").value_or(true);
  config.final_logit_softcap = fields.number("final_logit_softcapping").value_or(0);

  config.rotary.theta = 1'000'000.0;
  config.rotary.partial_factor = 0.25;
  config.rotary.proportional = true;
  if (const auto parameters = fields.object("rope_parameters"); parameters)
    if (const auto full = parameters->object("full_attention")) {
      config.rotary = RotaryConfig{};
      config.rotary.theta = full->number("rope_theta").value_or(1'000'000.0);
      read_scaling(*full, {config.max_positions}, config.rotary);
    }
  config.rotary_local = read_local_rotary(fields, config.max_positions);

  config.layer_kinds =
      read_layer_types(fields, {"sliding_attention", "full_attention"})
          .value_or(every_nth_full(fields, config.layers, LayerKind::kSlidingAttention,
                                   "layer_types", 6));
  // Its own code makes the last layer a full one.
  if (!config.layer_kinds.empty()) config.layer_kinds.back() = LayerKind::kFullAttention;

  const char* per_layer = "hidden_size_per_layer_input";
  config.per_layer_input_size =
      fields.integer(per_layer).value_or(fields.is_null(per_layer) ? 0 : 256);
  if (config.per_layer_input_size > 0)
    config.per_layer_vocab_size = fields.integer("vocab_size_per_layer_input").value_or(262'144);
  config.kv_shared_layers = fields.integer("num_kv_shared_layers").value_or(0);
  config.double_wide_mlp = fields.boolean("use_double_wide_mlp").value_or(false);
  if (fields.boolean("enable_moe_block").value_or(false)) {
    config.experts = fields.required_integer("num_experts");
    config.experts_per_token = fields.required_integer("top_k_experts");
    config.expert_intermediate_size = fields.required_integer("moe_intermediate_size");
    if (config.experts < 1)
      fail(ErrorCode::kCorruptFile, "{}: num_experts: expected at least 1, got {}", fields.where(),
           config.experts);
  }
  require_string(fields, "hidden_activation", "gelu_pytorch_tanh");
  refuse_enabled(fields, "attention_bias");
  // "vision" lets the tokens of an image see each other, which text has none of.
  require_string(fields, "use_bidirectional_attention", "vision");
  return config;
}

}  // namespace gumbel
