// Gemma 4's GGUF metadata. What the file leaves to its tensors: whether layers have experts and
// whether full-attention layers use their keys as values.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/error.h"
#include "export/gguf/config_fields.h"

namespace gumbel {
namespace {

bool has_tensor(const GgufKeys& keys, int64_t layer, std::string_view name) {
  return keys.file().find_tensor(fmt::format("blk.{}.{}", layer, name)) != nullptr;
}

/// The value that the layers of `kind` have in common; nothing where there is no such layer.
std::optional<int64_t> value_of_kind(const GgufKeys& keys, std::string_view key,
                                     const std::vector<int64_t>& values, const ModelConfig& config,
                                     LayerKind kind) {
  std::optional<int64_t> common;
  for (size_t layer = 0; layer < values.size(); ++layer) {
    if (config.layer_kinds[layer] != kind) continue;
    if (common && *common != values[layer])
      fail(ErrorCode::kUnsupported,
           "{}: {}: expected one value for all layers of a kind, got {} and {}", keys.file().name(),
           keys.full(key), *common, values[layer]);
    common = values[layer];
  }
  return common;
}

void read_heads(const GgufKeys& keys, ModelConfig& config) {
  constexpr std::string_view kKey = "attention.head_count_kv";
  config.kv_heads = config.full_kv_heads = config.heads;
  if (const auto counts = keys.layer_integers(kKey, config.layers)) {
    const auto sliding = value_of_kind(keys, kKey, *counts, config, LayerKind::kSlidingAttention);
    const auto full = value_of_kind(keys, kKey, *counts, config, LayerKind::kFullAttention);
    config.kv_heads = sliding ? *sliding : full.value_or(0);
    config.full_kv_heads = full ? *full : config.kv_heads;
  }
  config.full_head_dim = config.head_dim;
  config.head_dim = keys.integer("attention.key_length_swa").value_or(config.full_head_dim);
  if (const auto values = keys.integer("attention.value_length_swa"))
    if (*values != config.head_dim)
      fail(ErrorCode::kUnsupported, "{}: {}: expected key_length_swa {}, got {}",
           keys.file().name(), keys.full("attention.value_length_swa"), config.head_dim, *values);
}

/// Elements of a head that are rotated, which must not exceed it.
double rotated_part(const GgufKeys& keys, std::string_view name, int64_t head_dim) {
  const int64_t rotated = keys.integer(name).value_or(head_dim);
  if (rotated < 2 || rotated > head_dim)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected 2 to {}, the head's size, got {}",
         keys.file().name(), keys.full(name), head_dim, rotated);
  return partial_rotary_factor(rotated, head_dim);
}

/// The converter states a proportional embedding by its result: divisors of 1 for the pairs that
/// are rotated and then 1e30, which stops a pair, for all others.
void read_proportional(const GgufKeys& keys, RotaryConfig& rotary, int64_t head_dim) {
  constexpr float kStopped = 1e30f;
  std::vector<float>& divisors = rotary.divisors;
  // verify_config refuses any other number of them.
  if (2 * std::ssize(divisors) != head_dim) return;
  if (rotary.partial_factor != 1.0)
    fail(ErrorCode::kUnsupported,
         "{}: {}: expected key_length {} beside a tensor 'rope_freqs.weight'", keys.file().name(),
         keys.full("rope.dimension_count"), head_dim);
  auto end = divisors.end();
  while (end != divisors.begin() && end[-1] == kStopped) --end;
  if (end == divisors.end()) return;
  rotary.proportional = true;
  rotary.partial_factor = partial_rotary_factor(2 * (end - divisors.begin()), head_dim);
  std::fill(end, divisors.end(), 1.0f);
  if (std::all_of(divisors.begin(), end, [](float divisor) { return divisor == 1.0f; }))
    divisors.clear();
}

void read_shared_layers(const GgufKeys& keys, ModelConfig& config) {
  config.kv_shared_layers = keys.integer("attention.shared_kv_layers").value_or(0);
  if (config.kv_shared_layers < 0 || config.kv_shared_layers >= config.layers)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected 0 to {}, got {}", keys.file().name(),
         keys.full("attention.shared_kv_layers"), config.layers - 1, config.kv_shared_layers);
  constexpr std::string_view kKey = "feed_forward_length";
  const auto sizes = keys.layer_integers(kKey, config.layers);
  if (!sizes) return;
  config.intermediate_size = sizes->front();
  const auto first_shared = sizes->end() - config.kv_shared_layers;
  config.double_wide_mlp = first_shared != sizes->end() && *first_shared != sizes->front();
  for (auto size = sizes->begin(); size != sizes->end(); ++size) {
    const bool wide = config.double_wide_mlp && size >= first_shared;
    // Written so that a huge size does not overflow.
    if (wide ? *size % 2 != 0 || *size / 2 != config.intermediate_size
             : *size != config.intermediate_size)
      fail(ErrorCode::kUnsupported,
           "{}: {}: expected {}, and twice as much in all layers or in none of the {} with shared "
           "keys and values, got {} in layer {}",
           keys.file().name(), keys.full(kKey), config.intermediate_size, config.kv_shared_layers,
           *size, size - sizes->begin());
  }
}

void read_keys_are_values(const GgufKeys& keys, ModelConfig& config) {
  std::optional<bool> known;
  for (int64_t layer = 0; layer < config.layers - config.kv_shared_layers; ++layer) {
    if (config.layer_kinds[static_cast<size_t>(layer)] != LayerKind::kFullAttention) continue;
    const bool no_values = !has_tensor(keys, layer, "attn_v.weight");
    if (known && *known != no_values)
      fail(ErrorCode::kUnsupported,
           "{}: expected a tensor 'blk.N.attn_v.weight' in all full-attention layers or in none, "
           "layer {} differs",
           keys.file().name(), layer);
    known = no_values;
  }
  config.keys_are_values = known.value_or(false);
}

}  // namespace

ModelConfig read_gguf_gemma4(const GgufKeys& keys) {
  ModelConfig config = read_gguf_sizes(keys);
  config.attention_scale = 1.0;
  config.final_logit_softcap = keys.number("final_logit_softcapping").value_or(0);
  config.sliding_window = keys.required_integer("attention.sliding_window");
  constexpr std::string_view kPattern = "attention.sliding_window_pattern";
  if (!keys.file().is_array(keys.full(kPattern)))
    fail(ErrorCode::kNotFound, "{}: {}: expected an array of one entry a layer", keys.file().name(),
         keys.full(kPattern));
  const auto slides = keys.layer_integers(kPattern, config.layers).value();
  std::transform(slides.begin(), slides.end(), config.layer_kinds.begin(), [](int64_t slide) {
    return slide != 0 ? LayerKind::kSlidingAttention : LayerKind::kFullAttention;
  });
  read_heads(keys, config);

  config.rotary = read_gguf_rotary(keys, 1'000'000.0);
  config.rotary.partial_factor = rotated_part(keys, "rope.dimension_count", config.full_head_dim);
  read_proportional(keys, config.rotary, config.full_head_dim);
  config.rotary_local.theta = keys.number("rope.freq_base_swa").value_or(10'000.0);
  config.rotary_local.partial_factor =
      rotated_part(keys, "rope.dimension_count_swa", config.head_dim);

  read_shared_layers(keys, config);
  read_keys_are_values(keys, config);
  config.per_layer_input_size = keys.integer("embedding_length_per_layer_input").value_or(0);
  if (config.per_layer_input_size > 0) {
    const GgufTensor* table = keys.file().find_tensor("per_layer_token_embd.weight");
    if (table == nullptr)
      fail(ErrorCode::kNotFound, "{}: tensor 'per_layer_token_embd.weight' is missing",
           keys.file().name());
    config.per_layer_vocab_size = table->rows();
  }
  if (has_tensor(keys, 0, "ffn_gate_inp.weight")) read_gguf_experts(keys, config);
  return config;
}

}  // namespace gumbel
