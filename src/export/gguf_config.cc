#include "export/gguf_config.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/error.h"
#include "export/byte_cursor.h"
#include "export/quote.h"
#include "export/verify_config.h"

namespace gumbel {
namespace {

/// The keys of one architecture: "llama." and so on are put before the names.
class Keys {
 public:
  Keys(const GgufFile& file, std::string architecture)
      : file_(file), prefix_(std::move(architecture) + ".") {}

  std::string full(std::string_view name) const { return prefix_ + std::string(name); }
  std::optional<int64_t> integer(std::string_view name) const { return file_.integer(full(name)); }
  std::optional<double> number(std::string_view name) const { return file_.number(full(name)); }
  std::optional<std::string_view> string(std::string_view name) const {
    return file_.string(full(name));
  }

  int64_t required_integer(std::string_view name) const {
    if (const auto value = integer(name)) return *value;
    missing(name);
  }

  double required_number(std::string_view name) const {
    if (const auto value = number(name)) return *value;
    missing(name);
  }

  /// A value that may also be written as an array of one entry a layer, all equal.
  std::optional<int64_t> uniform_integer(std::string_view name) const {
    if (!file_.is_array(full(name))) return integer(name);
    const auto values = file_.integers(full(name)).value();
    for (const int64_t value : values)
      if (value != values.front())
        fail(ErrorCode::kUnsupported, "{}: {}: expected one value for all layers, got {} and {}",
             file_.name(), full(name), values.front(), value);
    if (values.empty())
      fail(ErrorCode::kCorruptFile, "{}: {}: expected a value, got an empty array", file_.name(),
           full(name));
    return values.front();
  }

  /// A feature that the families lack: the key must be absent or zero.
  void refuse_number(std::string_view name) const {
    if (const double value = number(name).value_or(0); value != 0)
      fail(ErrorCode::kUnsupported, "{}: {} is not supported, expected 0, got {}", file_.name(),
           full(name), value);
  }

 private:
  [[noreturn]] void missing(std::string_view name) const {
    fail(ErrorCode::kNotFound, "{}: key {} is missing", file_.name(), full(name));
  }

  const GgufFile& file_;
  std::string prefix_;
};

RotaryConfig read_rotary(const GgufFile& file, const Keys& keys, double default_theta) {
  RotaryConfig rotary;
  rotary.theta = keys.number("rope.freq_base").value_or(default_theta);
  const std::string_view scaling = keys.string("rope.scaling.type").value_or("none");
  // Older files have the factor alone.
  const double older_factor = keys.number("rope.scale_linear").value_or(1.0);
  if (scaling == "linear") {
    rotary.factor = keys.number("rope.scaling.factor").value_or(older_factor);
    if (rotary.factor != 1.0) rotary.scaling = RotaryConfig::Scaling::kLinear;
  } else if (scaling == "none") {
    rotary.factor = older_factor;
    if (rotary.factor != 1.0) rotary.scaling = RotaryConfig::Scaling::kLinear;
  } else {
    fail(ErrorCode::kUnsupported, "{}: {}: expected none or linear, got {}", file.name(),
         keys.full("rope.scaling.type"), quote(scaling));
  }
  if (const GgufTensor* divisors = file.find_tensor("rope_freqs.weight")) {
    if (divisors->type != WeightType::kF32 || divisors->shape.size() != 1)
      fail(ErrorCode::kUnsupported, "{}: tensor 'rope_freqs.weight': expected a vector of f32",
           file.name());
    rotary.divisors.resize(static_cast<size_t>(divisors->columns()));
    std::memcpy(rotary.divisors.data(), divisors->data.data(), divisors->data.size());
  }
  return rotary;
}

ModelConfig read_common(const GgufFile& file, const Keys& keys, double default_theta) {
  ModelConfig config;
  const GgufTensor* embeddings = file.find_tensor("token_embd.weight");
  if (embeddings == nullptr)
    fail(ErrorCode::kNotFound, "{}: tensor 'token_embd.weight' is missing", file.name());
  config.vocab_size = embeddings->rows();
  config.tied_embeddings = file.find_tensor("output.weight") == nullptr;
  config.hidden_size = keys.required_integer("embedding_length");
  config.intermediate_size = keys.uniform_integer("feed_forward_length").value_or(0);
  config.layers = keys.required_integer("block_count");
  config.heads = keys.uniform_integer("attention.head_count").value_or(0);
  config.kv_heads = keys.uniform_integer("attention.head_count_kv").value_or(config.heads);
  config.max_positions = keys.required_integer("context_length");
  config.rms_norm_epsilon = keys.required_number("attention.layer_norm_rms_epsilon");
  if (config.layers < 1 || config.layers > 10'000)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected 1 to 10000, got {}", file.name(),
         keys.full("block_count"), config.layers);
  if (config.heads < 1)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected at least 1, got {}", file.name(),
         keys.full("attention.head_count"), config.heads);
  config.layer_kinds.assign(static_cast<size_t>(config.layers), LayerKind::kFullAttention);
  config.head_dim =
      keys.integer("attention.key_length").value_or(config.hidden_size / config.heads);
  const int64_t value_length = keys.integer("attention.value_length").value_or(config.head_dim);
  const int64_t rotated = keys.integer("rope.dimension_count").value_or(config.head_dim);
  if (value_length != config.head_dim || rotated != config.head_dim)
    fail(ErrorCode::kUnsupported,
         "{}: expected value_length and rope.dimension_count to equal key_length {}, got {} and {}",
         file.name(), config.head_dim, value_length, rotated);
  config.attention_scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim));
  config.rotary = read_rotary(file, keys, default_theta);
  config.rotary_local = config.rotary;
  keys.refuse_number("expert_count");
  keys.refuse_number("attn_logit_softcapping");
  keys.refuse_number("final_logit_softcapping");
  keys.refuse_number("attention.max_alibi_bias");
  keys.refuse_number("attention.clamp_kqv");
  if (!file.boolean(keys.full("attention.causal")).value_or(true))
    fail(ErrorCode::kUnsupported, "{}: {}: expected true", file.name(),
         keys.full("attention.causal"));
  return config;
}

void read_sliding_layers(const GgufFile& file, const Keys& keys, ModelConfig& config) {
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

ModelConfig read_gemma3(const GgufFile& file, const Keys& keys) {
  ModelConfig config = read_common(file, keys, 1'000'000.0);
  read_sliding_layers(file, keys, config);
  // The metadata lack query_pre_attn_scalar, which is head_dim in every size but 27B: there it is
  // hidden_size / heads = 168. 27B is the one with 62 layers.
  if (config.layers == 62) {
    const int64_t query_pre_attn_scalar = config.hidden_size / config.heads;
    config.attention_scale = 1.0 / std::sqrt(static_cast<double>(query_pre_attn_scalar));
  }
  return config;
}

}  // namespace

ModelConfig read_gguf_config(const GgufFile& file) {
  const auto found = file.string("general.architecture");
  if (!found) fail(ErrorCode::kNotFound, "{}: key general.architecture is missing", file.name());
  const std::string architecture(*found);
  const Keys keys(file, architecture);
  ModelConfig config;
  if (architecture == "llama" || architecture == "qwen3") {
    config = read_common(file, keys, 10000.0);
  } else if (architecture == "gemma3") {
    config = read_gemma3(file, keys);
  } else {
    fail(ErrorCode::kUnsupported,
         "{}: architecture {} is not supported, expected one of llama, qwen3, gemma3", file.name(),
         quote(architecture));
  }
  config.architecture = architecture;
  verify_config(config, file.name());
  return config;
}

}  // namespace gumbel
