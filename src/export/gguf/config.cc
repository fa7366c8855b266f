#include "export/gguf/config.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "export/gguf/config_fields.h"
#include "export/verify_config.h"

namespace gumbel {
namespace {

ModelConfig read_common(const GgufKeys& keys, double default_theta) {
  ModelConfig config = read_gguf_sizes(keys);
  config.intermediate_size = keys.uniform_integer("feed_forward_length").value_or(0);
  config.kv_heads = keys.uniform_integer("attention.head_count_kv").value_or(config.heads);
  const int64_t rotated = keys.integer("rope.dimension_count").value_or(config.head_dim);
  if (rotated != config.head_dim)
    fail(ErrorCode::kUnsupported, "{}: {}: expected key_length {}, got {}", keys.file().name(),
         keys.full("rope.dimension_count"), config.head_dim, rotated);
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  config.rotary = read_gguf_rotary(keys, default_theta);
  config.rotary_local = config.rotary;
  keys.refuse_number("expert_count");
  keys.refuse_number("final_logit_softcapping");
  return config;
}

/// What llama and qwen3 are.
ModelConfig read_plain(const GgufKeys& keys) { return read_common(keys, 10000.0); }

void read_sliding_layers(const GgufKeys& keys, ModelConfig& config) {
  const GgufFile& file = keys.file();
  config.sliding_window = keys.required_integer("attention.sliding_window");
  config.rotary_local = RotaryConfig{};
  config.rotary_local.theta = keys.number("rope.freq_base_swa").value_or(10000.0);
  const std::string pattern_key = keys.full("attention.sliding_window_pattern");
  if (file.is_array(pattern_key)) {
    const auto slides = file.integers(pattern_key).value();
    config.layer_kinds.clear();
    for (const int64_t slide : slides)
      config.layer_kinds.push_back(slide != 0 ? LayerKind::kSlidingAttention
                                              : LayerKind::kFullAttention);
    return;
  }
  // Every sixth layer sees everything, counted from one.
  const int64_t pattern = file.integer(pattern_key).value_or(6);
  if (pattern < 1)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected at least 1, got {}", file.name(), pattern_key,
         pattern);
  for (int64_t layer = 0; layer < config.layers; ++layer)
    if ((layer + 1) % pattern != 0)
      config.layer_kinds[static_cast<size_t>(layer)] = LayerKind::kSlidingAttention;
}

ModelConfig read_gemma3(const GgufKeys& keys) {
  ModelConfig config = read_common(keys, 1'000'000.0);
  read_sliding_layers(keys, config);
  // The metadata lack query_pre_attn_scalar, which is head_dim in every size but 27B: there it is
  // hidden_size / heads = 168. 27B is the one with 62 layers.
  if (config.layers == 62) {
    const int64_t query_pre_attn_scalar = config.hidden_size / config.heads;
    config.attention_scale = 1.0 / std::sqrt(static_cast<double>(query_pre_attn_scalar));
  }
  return config;
}

/// Values of general.architecture, and the families' own names.
struct Architecture {
  std::string_view name, family;
  ModelConfig (*read)(const GgufKeys& keys);
};

constexpr Architecture kArchitectures[] = {
    {"llama", "llama", read_plain},           {"qwen3", "qwen3", read_plain},
    {"gemma3", "gemma3", read_gemma3},        {"gemma4", "gemma4", read_gguf_gemma4},
    {"qwen35", "qwen3_5", read_gguf_qwen3_5}, {"qwen35moe", "qwen3_5_moe", read_gguf_qwen3_5_moe},
};

}  // namespace

ModelConfig read_gguf_config(const GgufFile& file) {
  const auto found = file.string("general.architecture");
  if (!found) fail(ErrorCode::kNotFound, "{}: key general.architecture is missing", file.name());
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", architecture.name);
    if (architecture.name != *found) continue;
    ModelConfig config = architecture.read(GgufKeys(file, architecture.name));
    config.architecture = architecture.family;
    verify_config(config, file.name());
    return config;
  }
  fail(ErrorCode::kUnsupported, "{}: architecture {} is not supported, expected one of {}",
       file.name(), quote(*found), known);
}

}  // namespace gumbel
