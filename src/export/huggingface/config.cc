#include "export/huggingface/config.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/quote.h"
#include "export/huggingface/config_fields.h"
#include "export/verify_config.h"

namespace gumbel {
namespace {

/// What llama and qwen3 share.
ModelConfig read_common(const JsonFields& fields) {
  ModelConfig config;
  config.vocab_size = fields.required_integer("vocab_size");
  config.hidden_size = fields.required_integer("hidden_size");
  config.intermediate_size = fields.required_integer("intermediate_size");
  config.layers = read_layer_count(fields);
  config.heads = fields.required_integer("num_attention_heads");
  config.kv_heads = fields.integer("num_key_value_heads").value_or(config.heads);
  config.max_positions = fields.required_integer("max_position_embeddings");
  config.rms_norm_epsilon = fields.number("rms_norm_eps").value_or(1e-6);
  config.tied_embeddings = fields.boolean("tie_word_embeddings").value_or(false);
  config.rotary = read_rotary(fields, 10000.0, config.max_positions);
  config.rotary_local = config.rotary;
  require_string(fields, "hidden_act", "silu");
  refuse_enabled(fields, "attention_bias");
  refuse_enabled(fields, "mlp_bias");
  if (config.rotary.partial_factor != 1.0)
    fail(ErrorCode::kUnsupported, "{}: partial_rotary_factor: expected 1, got {}", fields.where(),
         config.rotary.partial_factor);
  config.layer_kinds =
      read_layer_types(fields, {"full_attention"})
          .value_or(std::vector(static_cast<size_t>(config.layers), LayerKind::kFullAttention));
  return config;
}

ModelConfig read_llama(const JsonFields& fields) {
  ModelConfig config = read_common(fields);
  config.architecture = "llama";
  if (config.heads < 1)
    fail(ErrorCode::kCorruptFile, "{}: num_attention_heads: expected at least 1, got {}",
         fields.where(), config.heads);
  config.head_dim = fields.integer("head_dim").value_or(config.hidden_size / config.heads);
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  return config;
}

ModelConfig read_qwen3(const JsonFields& fields) {
  ModelConfig config = read_common(fields);
  config.architecture = "qwen3";
  config.head_dim = fields.integer("head_dim").value_or(128);
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  refuse_enabled(fields, "use_sliding_window");
  return config;
}

/// Multimodal files leave out what equals Gemma3TextConfig's defaults.
ModelConfig read_gemma3(const JsonFields& fields) {
  ModelConfig config;
  config.architecture = "gemma3";
  config.vocab_size = fields.integer("vocab_size").value_or(262'208);
  config.hidden_size = fields.integer("hidden_size").value_or(2304);
  config.intermediate_size = fields.integer("intermediate_size").value_or(9216);
  config.layers = read_layer_count(fields, 26);
  config.heads = fields.integer("num_attention_heads").value_or(8);
  config.kv_heads = fields.integer("num_key_value_heads").value_or(4);
  config.head_dim = fields.integer("head_dim").value_or(256);
  config.max_positions = fields.integer("max_position_embeddings").value_or(131'072);
  config.rms_norm_epsilon = fields.number("rms_norm_eps").value_or(1e-6);
  config.attention_scale = 1.0 / std::sqrt(fields.number("query_pre_attn_scalar").value_or(256.0));
  config.sliding_window = fields.integer("sliding_window").value_or(4096);
  config.tied_embeddings = fields.boolean("tie_word_embeddings").value_or(true);
  config.rotary = read_rotary(fields, 1'000'000.0, config.max_positions);
  config.rotary_local = read_local_rotary(fields, config.max_positions);
  require_string(fields, "hidden_activation", "gelu_pytorch_tanh");
  require_string(fields, "hidden_act", "gelu_pytorch_tanh");
  refuse_enabled(fields, "attention_bias");
  refuse_enabled(fields, "use_bidirectional_attention");
  refuse_number(fields, "attn_logit_softcapping");
  refuse_number(fields, "final_logit_softcapping");
  if (auto kinds = read_layer_types(fields, {"sliding_attention", "full_attention"})) {
    config.layer_kinds = std::move(*kinds);
    return config;
  }
  const char* key =
      fields.has("sliding_window_pattern") ? "sliding_window_pattern" : "_sliding_window_pattern";
  config.layer_kinds = every_nth_full(fields, config.layers, LayerKind::kSlidingAttention, key,
                                      fields.integer(key).value_or(6));
  return config;
}

using ReadConfig = ModelConfig (*)(const JsonFields& fields);

/// Values of model_type; for those of multimodal models the language model's fields are in
/// text_config.
struct ModelType {
  std::string_view name;
  ReadConfig read;
  bool multimodal;
};

constexpr ModelType kModelTypes[] = {
    {"llama", read_llama, false},
    {"qwen3", read_qwen3, false},
    {"gemma3_text", read_gemma3, false},
    {"gemma3", read_gemma3, true},
    {"gemma4_text", read_gemma4, false},
    {"gemma4", read_gemma4, true},
    {"gemma4_unified", read_gemma4, true},
    {"qwen3_5_text", read_qwen3_5, false},
    {"qwen3_5", read_qwen3_5, true},
    {"qwen3_5_moe_text", read_qwen3_5_moe, false},
    {"qwen3_5_moe", read_qwen3_5_moe, true},
};

ModelConfig read_family(const JsonFields& fields) {
  const auto type = fields.string("model_type");
  if (!type) fail(ErrorCode::kNotFound, "{}: model_type is missing", fields.where());
  if (const auto quantization = fields.object("quantization_config"))
    fail(ErrorCode::kUnsupported,
         "{}: quantization_config ({}) is not supported, expected float weights or a GGUF file",
         fields.where(), quote(quantization->string("quant_method").value_or("unnamed")));
  std::string known;
  for (const ModelType& model : kModelTypes) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", model.name);
    if (model.name != *type) continue;
    if (!model.multimodal) return model.read(fields);
    const auto text = fields.object("text_config");
    if (!text) fail(ErrorCode::kNotFound, "{}: text_config is missing", fields.where());
    ModelConfig config = model.read(*text);
    // The file's own statement, where it has one, is about the language model's head.
    if (!text->has("tie_word_embeddings"))
      config.tied_embeddings =
          fields.boolean("tie_word_embeddings").value_or(config.tied_embeddings);
    return config;
  }
  fail(ErrorCode::kUnsupported, "{}: model_type {} is not supported, expected one of {}",
       fields.where(), quote(*type), known);
}

}  // namespace

ModelConfig read_hf_config(const nlohmann::json& config, std::string_view where) {
  ModelConfig result = read_family(JsonFields(config, std::string(where)));
  verify_config(result, where);
  return result;
}

}  // namespace gumbel
