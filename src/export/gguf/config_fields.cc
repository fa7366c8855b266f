#include "export/gguf/config_fields.h"

#include <cmath>
#include <cstring>

#include "base/error.h"
#include "base/quote.h"

namespace gumbel {

void GgufKeys::missing(std::string_view name) const {
  fail(ErrorCode::kNotFound, "{}: key {} is missing", file_.name(), full(name));
}

int64_t GgufKeys::required_integer(std::string_view name) const {
  if (const auto value = integer(name)) return *value;
  missing(name);
}

double GgufKeys::required_number(std::string_view name) const {
  if (const auto value = number(name)) return *value;
  missing(name);
}

std::optional<int64_t> GgufKeys::uniform_integer(std::string_view name) const {
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

std::optional<std::vector<int64_t>> GgufKeys::layer_integers(std::string_view name,
                                                             int64_t layers) const {
  if (!file_.is_array(full(name))) {
    const auto value = integer(name);
    if (!value) return std::nullopt;
    return std::vector(static_cast<size_t>(layers), *value);
  }
  auto values = file_.integers(full(name)).value();
  if (static_cast<int64_t>(values.size()) != layers)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected an entry for each of {} layers, got {}",
         file_.name(), full(name), layers, values.size());
  return values;
}

void GgufKeys::refuse_number(std::string_view name, double expected) const {
  if (const double value = number(name).value_or(expected); value != expected)
    fail(ErrorCode::kUnsupported, "{}: {} is not supported, expected {}, got {}", file_.name(),
         full(name), expected, value);
}

ModelConfig read_gguf_sizes(const GgufKeys& keys) {
  const GgufFile& file = keys.file();
  ModelConfig config;
  const GgufTensor* embeddings = file.find_tensor("token_embd.weight");
  if (embeddings == nullptr)
    fail(ErrorCode::kNotFound, "{}: tensor 'token_embd.weight' is missing", file.name());
  config.vocab_size = embeddings->rows();
  config.tied_embeddings = file.find_tensor("output.weight") == nullptr;
  config.hidden_size = keys.required_integer("embedding_length");
  config.layers = keys.required_integer("block_count");
  config.heads = keys.uniform_integer("attention.head_count").value_or(0);
  config.max_positions = keys.required_integer("context_length");
  // Converters leave out what config.json leaves out, which is what equals the default of every
  // family's configuration class in transformers.
  config.rms_norm_epsilon = keys.number("attention.layer_norm_rms_epsilon").value_or(1e-6);
  if (config.layers < 1 || config.layers > 10'000)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected 1 to 10000, got {}", file.name(),
         keys.full("block_count"), config.layers);
  if (config.heads < 1)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected at least 1, got {}", file.name(),
         keys.full("attention.head_count"), config.heads);
  config.layer_kinds.assign(static_cast<size_t>(config.layers), LayerKind::kFullAttention);
  config.head_dim =
      keys.integer("attention.key_length").value_or(config.hidden_size / config.heads);
  if (const auto values = keys.integer("attention.value_length"))
    if (*values != config.head_dim)
      fail(ErrorCode::kUnsupported, "{}: {}: expected key_length {}, got {}", file.name(),
           keys.full("attention.value_length"), config.head_dim, *values);
  keys.refuse_number("attn_logit_softcapping");
  keys.refuse_number("attention.max_alibi_bias");
  keys.refuse_number("attention.clamp_kqv");
  if (!file.boolean(keys.full("attention.causal")).value_or(true))
    fail(ErrorCode::kUnsupported, "{}: {}: expected true", file.name(),
         keys.full("attention.causal"));
  return config;
}

namespace {

void read_yarn(const GgufKeys& keys, RotaryConfig& rotary) {
  rotary.scaling = RotaryConfig::Scaling::kYarn;
  rotary.original_max_positions = keys.integer("rope.scaling.original_context_length").value_or(0);
  if (rotary.original_max_positions == 0)
    rotary.original_max_positions = keys.required_integer("context_length");
  rotary.beta_fast = keys.number("rope.scaling.yarn_beta_fast").value_or(32.0);
  rotary.beta_slow = keys.number("rope.scaling.yarn_beta_slow").value_or(1.0);
  // The converter writes an attention_factor of config.json, which is the whole of it, under the
  // first name; the second multiplies what is computed.
  rotary.attention_factor =
      keys.number("rope.scaling.yarn_attn_factor").value_or(yarn_attention_factor(rotary.factor)) *
      keys.number("rope.scaling.attn_factor").value_or(1.0);
  keys.refuse_number("rope.scaling.yarn_ext_factor", 1);
  keys.refuse_number("rope.scaling.yarn_log_multiplier");
}

void read_scaling(const GgufKeys& keys, RotaryConfig& rotary) {
  const std::string_view scaling = keys.string("rope.scaling.type").value_or("linear");
  if (scaling != "yarn") keys.refuse_number("rope.scaling.attn_factor", 1);
  if (scaling == "none") return;
  // Older files have another name for the factor. 0 stands for none.
  const auto older_factor = keys.number("rope.scale_linear");
  rotary.factor = keys.number("rope.scaling.factor").value_or(older_factor.value_or(1.0));
  if (rotary.factor == 0) rotary.factor = 1.0;
  if (scaling == "yarn") {
    read_yarn(keys, rotary);
    return;
  }
  if (scaling != "linear")
    fail(ErrorCode::kUnsupported, "{}: {}: expected none, linear or yarn, got {}",
         keys.file().name(), keys.full("rope.scaling.type"), quote(scaling));
  if (rotary.factor != 1.0) rotary.scaling = RotaryConfig::Scaling::kLinear;
}

}  // namespace

RotaryConfig read_gguf_rotary(const GgufKeys& keys, double default_theta) {
  const GgufFile& file = keys.file();
  RotaryConfig rotary;
  rotary.theta = keys.number("rope.freq_base").value_or(default_theta);
  read_scaling(keys, rotary);
  if (const GgufTensor* divisors = file.find_tensor("rope_freqs.weight")) {
    if (divisors->type != WeightType::kF32 || divisors->shape.size() != 1)
      fail(ErrorCode::kUnsupported, "{}: tensor 'rope_freqs.weight': expected a vector of f32",
           file.name());
    rotary.divisors.resize(static_cast<size_t>(divisors->columns()));
    std::memcpy(rotary.divisors.data(), divisors->data.data(), divisors->data.size());
  }
  return rotary;
}

double partial_rotary_factor(int64_t rotated, int64_t head_dim) {
  const auto whole = static_cast<double>(head_dim);
  double factor = static_cast<double>(rotated) / whole;
  // The quotient may be rounded down, and its product with head_dim then fall short of `rotated`.
  if (factor * whole < static_cast<double>(rotated)) factor = std::nextafter(factor, 2.0);
  return factor;
}

void read_gguf_experts(const GgufKeys& keys, ModelConfig& config) {
  config.experts = keys.integer("expert_count").value_or(0);
  if (config.experts == 0) return;
  config.experts_per_token = keys.required_integer("expert_used_count");
  config.expert_intermediate_size = keys.uniform_integer("expert_feed_forward_length").value_or(0);
  config.shared_expert_intermediate_size =
      keys.integer("expert_shared_feed_forward_length").value_or(0);
  constexpr int kSoftmax = 1;
  keys.refuse_number("expert_gating_func", kSoftmax);
  keys.refuse_number("expert_weights_scale", 1);
  for (const char* groups : {"expert_group_count", "expert_group_used_count"})
    if (keys.integer(groups).value_or(0) > 1) keys.refuse_number(groups, 1);
}

}  // namespace gumbel
