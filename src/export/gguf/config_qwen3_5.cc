// Qwen3.5's GGUF metadata, dense (qwen35) and with experts (qwen35moe).
#include <cmath>

#include "base/error.h"
#include "export/gguf/config_fields.h"

namespace gumbel {
namespace {

/// blocks [0, layers) of block_count are the model's own; what follows predicts further tokens.
void read_layers(const GgufKeys& keys, ModelConfig& config) {
  const int64_t blocks = config.layers;
  config.prediction_layers = keys.integer("nextn_predict_layers").value_or(0);
  if (config.prediction_layers < 0 || config.prediction_layers >= blocks)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected 0 to {}, got {}", keys.file().name(),
         keys.full("nextn_predict_layers"), blocks - 1, config.prediction_layers);
  config.layers = blocks - config.prediction_layers;
  config.layer_kinds.resize(static_cast<size_t>(config.layers));

  const auto recurrent = keys.layer_integers("attention.recurrent_layers", blocks);
  const int64_t interval = keys.integer("full_attention_interval").value_or(4);
  if (interval < 1)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected at least 1, got {}", keys.file().name(),
         keys.full("full_attention_interval"), interval);
  for (int64_t i = 0; i < config.layers; ++i) {
    const auto layer = static_cast<size_t>(i);
    const bool linear = recurrent ? (*recurrent)[layer] != 0 : (i + 1) % interval != 0;
    if (linear) config.layer_kinds[layer] = LayerKind::kLinearAttention;
  }
}

void read_delta_net(const GgufKeys& keys, ModelConfig& config) {
  config.linear_key_heads = keys.required_integer("ssm.group_count");
  config.linear_value_heads = keys.required_integer("ssm.time_step_rank");
  config.linear_key_dim = keys.required_integer("ssm.state_size");
  config.linear_conv_width = keys.required_integer("ssm.conv_kernel");
  config.linear_head_order = HeadOrder::kTiled;
  const int64_t width = keys.required_integer("ssm.inner_size");
  const int64_t heads = config.linear_value_heads;
  if (heads < 1 || width < 1 || width % heads != 0)
    fail(ErrorCode::kCorruptFile, "{}: expected {} of a multiple of {}, {} or more, got {} and {}",
         keys.file().name(), keys.full("ssm.inner_size"), keys.full("ssm.time_step_rank"), 1, width,
         heads);
  config.linear_value_dim = width / heads;
}

ModelConfig read_common(const GgufKeys& keys) {
  ModelConfig config = read_gguf_sizes(keys);
  read_layers(keys, config);
  config.kv_heads = keys.uniform_integer("attention.head_count_kv").value_or(config.heads);
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  // Text has one position for all of the axes that rope.dimension_sections tells apart.
  config.rotary = read_gguf_rotary(keys, 10'000'000.0);
  const int64_t rotated = keys.integer("rope.dimension_count").value_or(config.head_dim);
  if (rotated < 2 || rotated > config.head_dim)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected 2 to {}, the head's size, got {}",
         keys.file().name(), keys.full("rope.dimension_count"), config.head_dim, rotated);
  config.rotary.partial_factor = partial_rotary_factor(rotated, config.head_dim);
  if (!config.rotary.divisors.empty())
    fail(ErrorCode::kUnsupported, "{}: tensor 'rope_freqs.weight' is not supported",
         keys.file().name());
  config.rotary_local = config.rotary;
  keys.refuse_number("final_logit_softcapping");
  read_delta_net(keys, config);
  config.intermediate_size = keys.uniform_integer("feed_forward_length").value_or(0);
  return config;
}

}  // namespace

ModelConfig read_gguf_qwen3_5(const GgufKeys& keys) {
  keys.refuse_number("expert_count");
  return read_common(keys);
}

ModelConfig read_gguf_qwen3_5_moe(const GgufKeys& keys) {
  ModelConfig config = read_common(keys);
  keys.required_integer("expert_count");
  read_gguf_experts(keys, config);
  return config;
}

}  // namespace gumbel
