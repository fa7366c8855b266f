#include "export/hf_config.h"

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "export/json_fields.h"
#include "export/quote.h"
#include "export/verify_config.h"

namespace gumbel {
namespace {

/// What the family cannot compute must be absent, null or false.
void refuse_enabled(const JsonFields& fields, std::string_view key) {
  if (fields.boolean(key).value_or(false))
    fail(ErrorCode::kUnsupported, "{}: {} is not supported, expected false", fields.where(), key);
}

void refuse_number(const JsonFields& fields, std::string_view key) {
  if (const double value = fields.number(key).value_or(0); value != 0)
    fail(ErrorCode::kUnsupported, "{}: {} is not supported, expected null, got {}", fields.where(),
         key, value);
}

void require_string(const JsonFields& fields, std::string_view key, std::string_view expected) {
  if (const auto value = fields.string(key); value && *value != expected)
    fail(ErrorCode::kUnsupported, "{}: {}: expected {}, got {}", fields.where(), key, expected,
         quote(*value));
}

/// Reads the scaling rule from `fields`: a rope_scaling object, or a rope_parameters one.
void read_scaling(const JsonFields& fields, RotaryConfig& rotary) {
  std::string type = "default";
  if (const auto spelled = fields.string("rope_type")) {
    type = *spelled;
  } else if (const auto older = fields.string("type")) {
    type = *older;
  }
  if (const double part = fields.number("partial_rotary_factor").value_or(1.0); part != 1.0)
    fail(ErrorCode::kUnsupported, "{}: partial_rotary_factor: expected 1, got {}", fields.where(),
         part);
  if (type == "default") return;
  if (type == "linear") {
    rotary.scaling = RotaryConfig::Scaling::kLinear;
    rotary.factor = fields.required_number("factor");
    return;
  }
  if (type == "llama3") {
    rotary.scaling = RotaryConfig::Scaling::kLlama3;
    rotary.factor = fields.required_number("factor");
    rotary.low_frequency_factor = fields.required_number("low_freq_factor");
    rotary.high_frequency_factor = fields.required_number("high_freq_factor");
    rotary.original_max_positions = fields.required_integer("original_max_position_embeddings");
    return;
  }
  fail(ErrorCode::kUnsupported,
       "{}: rope type {} is not supported, expected default, linear or llama3", fields.where(),
       quote(type));
}

/// The rotary embedding of all layers, or of the full-attention ones where they differ.
RotaryConfig read_rotary(const JsonFields& fields, double default_theta) {
  RotaryConfig rotary;
  rotary.theta = fields.number("rope_theta").value_or(default_theta);
  if (auto parameters = fields.object("rope_parameters")) {
    if (auto full = parameters->object("full_attention")) parameters = full;
    rotary.theta = parameters->number("rope_theta").value_or(rotary.theta);
    read_scaling(*parameters, rotary);
  } else if (const auto scaling = fields.object("rope_scaling")) {
    read_scaling(*scaling, rotary);
  }
  return rotary;
}

/// The rotary embedding of Gemma 3's sliding-window layers, which rope_scaling leaves alone.
RotaryConfig read_local_rotary(const JsonFields& fields) {
  RotaryConfig rotary;
  rotary.theta = fields.number("rope_local_base_freq").value_or(10000.0);
  if (const auto parameters = fields.object("rope_parameters"))
    if (const auto sliding = parameters->object("sliding_attention")) {
      rotary.theta = sliding->number("rope_theta").value_or(rotary.theta);
      read_scaling(*sliding, rotary);
    }
  return rotary;
}

/// Which layers slide, from layer_types; nothing where the key is absent.
std::optional<std::vector<bool>> read_layer_types(const JsonFields& fields) {
  const auto types = fields.strings("layer_types");
  if (!types) return std::nullopt;
  std::vector<bool> is_sliding;
  for (const std::string& type : *types) {
    if (type != "sliding_attention" && type != "full_attention")
      fail(ErrorCode::kUnsupported,
           "{}: layer_types: expected sliding_attention or full_attention, got {}", fields.where(),
           quote(type));
    is_sliding.push_back(type == "sliding_attention");
  }
  return is_sliding;
}

/// What llama and qwen3 share.
ModelConfig read_common(const JsonFields& fields) {
  ModelConfig config;
  config.vocab_size = fields.required_integer("vocab_size");
  config.hidden_size = fields.required_integer("hidden_size");
  config.intermediate_size = fields.required_integer("intermediate_size");
  config.layers = fields.required_integer("num_hidden_layers");
  config.heads = fields.required_integer("num_attention_heads");
  config.kv_heads = fields.integer("num_key_value_heads").value_or(config.heads);
  config.max_positions = fields.required_integer("max_position_embeddings");
  config.rms_norm_epsilon = fields.number("rms_norm_eps").value_or(1e-6);
  config.tied_embeddings = fields.boolean("tie_word_embeddings").value_or(false);
  config.rotary = read_rotary(fields, 10000.0);
  config.rotary_local = config.rotary;
  require_string(fields, "hidden_act", "silu");
  refuse_enabled(fields, "attention_bias");
  refuse_enabled(fields, "mlp_bias");
  if (const auto sliding = read_layer_types(fields))
    for (const bool slides : *sliding)
      if (slides)
        fail(ErrorCode::kUnsupported, "{}: layer_types: sliding_attention is not supported here",
             fields.where());
  return config;
}

/// Sizes that follow from `layers`, which must be checked before they are allocated.
void fill_layers(ModelConfig& config, std::string_view where) {
  if (config.layers < 1 || config.layers > 10'000)
    fail(ErrorCode::kCorruptFile, "{}: num_hidden_layers: expected 1 to 10000, got {}", where,
         config.layers);
  config.is_sliding.assign(static_cast<size_t>(config.layers), false);
}

ModelConfig read_llama(const JsonFields& fields) {
  ModelConfig config = read_common(fields);
  config.architecture = "llama";
  fill_layers(config, fields.where());
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
  fill_layers(config, fields.where());
  config.head_dim = fields.integer("head_dim").value_or(128);
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  refuse_enabled(fields, "use_sliding_window");
  return config;
}

/// Multimodal files leave out what equals Gemma3TextConfig's defaults.
ModelConfig read_gemma3(const JsonFields& fields, bool tied) {
  ModelConfig config;
  config.architecture = "gemma3";
  config.vocab_size = fields.integer("vocab_size").value_or(262'208);
  config.hidden_size = fields.integer("hidden_size").value_or(2304);
  config.intermediate_size = fields.integer("intermediate_size").value_or(9216);
  config.layers = fields.integer("num_hidden_layers").value_or(26);
  fill_layers(config, fields.where());
  config.heads = fields.integer("num_attention_heads").value_or(8);
  config.kv_heads = fields.integer("num_key_value_heads").value_or(4);
  config.head_dim = fields.integer("head_dim").value_or(256);
  config.max_positions = fields.integer("max_position_embeddings").value_or(131'072);
  config.rms_norm_epsilon = fields.number("rms_norm_eps").value_or(1e-6);
  config.attention_scale = 1.0 / std::sqrt(fields.number("query_pre_attn_scalar").value_or(256.0));
  config.sliding_window = fields.integer("sliding_window").value_or(4096);
  config.tied_embeddings = fields.boolean("tie_word_embeddings").value_or(tied);
  config.rotary = read_rotary(fields, 1'000'000.0);
  config.rotary_local = read_local_rotary(fields);
  require_string(fields, "hidden_activation", "gelu_pytorch_tanh");
  require_string(fields, "hidden_act", "gelu_pytorch_tanh");
  refuse_enabled(fields, "attention_bias");
  refuse_enabled(fields, "use_bidirectional_attention");
  refuse_number(fields, "attn_logit_softcapping");
  refuse_number(fields, "final_logit_softcapping");
  if (auto is_sliding = read_layer_types(fields)) {
    config.is_sliding = std::move(*is_sliding);
    return config;
  }
  // Every sixth layer sees everything, counted from one.
  const int64_t pattern = fields.integer("sliding_window_pattern")
                              .value_or(fields.integer("_sliding_window_pattern").value_or(6));
  if (pattern < 1)
    fail(ErrorCode::kCorruptFile, "{}: sliding_window_pattern: expected at least 1, got {}",
         fields.where(), pattern);
  for (int64_t layer = 0; layer < config.layers; ++layer)
    config.is_sliding[static_cast<size_t>(layer)] = (layer + 1) % pattern != 0;
  return config;
}

ModelConfig read_family(const JsonFields& fields) {
  const auto type = fields.string("model_type");
  if (!type) fail(ErrorCode::kNotFound, "{}: model_type is missing", fields.where());
  if (const auto quantization = fields.object("quantization_config"))
    fail(ErrorCode::kUnsupported,
         "{}: quantization_config ({}) is not supported, expected float weights or a GGUF file",
         fields.where(), quote(quantization->string("quant_method").value_or("unnamed")));
  if (*type == "llama") return read_llama(fields);
  if (*type == "qwen3") return read_qwen3(fields);
  if (*type == "gemma3_text") return read_gemma3(fields, true);
  if (*type == "gemma3") {
    const bool tied = fields.boolean("tie_word_embeddings").value_or(true);
    const auto text = fields.object("text_config");
    if (!text) fail(ErrorCode::kNotFound, "{}: text_config is missing", fields.where());
    return read_gemma3(*text, tied);
  }
  fail(ErrorCode::kUnsupported,
       "{}: model_type {} is not supported, expected one of llama, qwen3, gemma3, gemma3_text",
       fields.where(), quote(*type));
}

}  // namespace

ModelConfig read_hf_config(const nlohmann::json& config, std::string_view where) {
  ModelConfig result = read_family(JsonFields(config, std::string(where)));
  verify_config(result, where);
  return result;
}

}  // namespace gumbel
