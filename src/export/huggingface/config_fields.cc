#include "export/huggingface/config_fields.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "base/quote.h"

namespace gumbel {

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

namespace {

// What 0 and null stand for, and an absent key.
double number_or(const JsonFields& fields, std::string_view key, double otherwise) {
  const double value = fields.number(key).value_or(0);
  return value != 0 ? value : otherwise;
}

void read_yarn(const JsonFields& fields, const Context& context, RotaryConfig& rotary) {
  rotary.scaling = RotaryConfig::Scaling::kYarn;
  rotary.original_max_positions =
      context.original_positions
          ? *context.original_positions
          : fields.integer("original_max_position_embeddings").value_or(context.positions);
  // A context of 0 gives a factor that verify_config refuses.
  rotary.factor = fields.number("factor").value_or(
      static_cast<double>(context.positions) / static_cast<double>(rotary.original_max_positions));
  rotary.beta_fast = number_or(fields, "beta_fast", 32.0);
  rotary.beta_slow = number_or(fields, "beta_slow", 1.0);
  rotary.truncate = fields.boolean("truncate").value_or(true);
  const double scale = number_or(fields, "mscale", 0);
  const double scale_all = number_or(fields, "mscale_all_dim", 0);
  const bool both = scale != 0 && scale_all != 0;
  rotary.attention_factor = fields.number("attention_factor")
                                .value_or(both ? yarn_attention_factor(rotary.factor, scale) /
                                                     yarn_attention_factor(rotary.factor, scale_all)
                                               : yarn_attention_factor(rotary.factor));
}

}  // namespace

void read_scaling(const JsonFields& fields, const Context& context, RotaryConfig& rotary) {
  std::string type = "default";
  if (const auto spelled = fields.string("rope_type")) {
    type = *spelled;
  } else if (const auto older = fields.string("type")) {
    type = *older;
  }
  rotary.partial_factor = fields.number("partial_rotary_factor").value_or(rotary.partial_factor);
  if (type == "default") return;
  if (type == "proportional") {
    rotary.proportional = true;
    rotary.factor = fields.number("factor").value_or(1.0);
    if (rotary.factor != 1.0) rotary.scaling = RotaryConfig::Scaling::kLinear;
    return;
  }
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
    rotary.original_max_positions =
        context.original_positions ? *context.original_positions
                                   : fields.required_integer("original_max_position_embeddings");
    return;
  }
  if (type == "yarn") {
    read_yarn(fields, context, rotary);
    return;
  }
  fail(ErrorCode::kUnsupported,
       "{}: rope type {} is not supported, expected default, linear, llama3, yarn or proportional",
       fields.where(), quote(type));
}

RotaryConfig read_rotary(const JsonFields& fields, double default_theta, int64_t max_positions) {
  RotaryConfig rotary;
  Context context{max_positions, fields.integer("original_max_position_embeddings")};
  rotary.theta = fields.number("rope_theta").value_or(default_theta);
  if (auto parameters = fields.object("rope_parameters")) {
    if (auto full = parameters->object("full_attention")) {
      parameters = full;
      context.original_positions.reset();
    }
    rotary.theta = parameters->number("rope_theta").value_or(rotary.theta);
    read_scaling(*parameters, context, rotary);
  } else if (const auto scaling = fields.object("rope_scaling")) {
    read_scaling(*scaling, context, rotary);
  }
  return rotary;
}

RotaryConfig read_local_rotary(const JsonFields& fields, int64_t max_positions) {
  RotaryConfig rotary;
  rotary.theta = fields.number("rope_local_base_freq").value_or(10000.0);
  if (const auto parameters = fields.object("rope_parameters"))
    if (const auto sliding = parameters->object("sliding_attention")) {
      rotary.theta = sliding->number("rope_theta").value_or(rotary.theta);
      read_scaling(*sliding, {max_positions}, rotary);
    }
  return rotary;
}

std::optional<std::vector<LayerKind>> read_layer_types(
    const JsonFields& fields, std::initializer_list<std::string_view> accepted) {
  const auto types = fields.strings("layer_types");
  if (!types) return std::nullopt;
  std::vector<LayerKind> kinds;
  for (const std::string& type : *types) {
    if (std::find(accepted.begin(), accepted.end(), type) == accepted.end())
      fail(ErrorCode::kUnsupported, "{}: layer_types: expected {}, got {}", fields.where(),
           fmt::join(accepted, " or "), quote(type));
    kinds.push_back(type == "sliding_attention"  ? LayerKind::kSlidingAttention
                    : type == "linear_attention" ? LayerKind::kLinearAttention
                                                 : LayerKind::kFullAttention);
  }
  return kinds;
}

std::vector<LayerKind> every_nth_full(const JsonFields& fields, int64_t layers, LayerKind others,
                                      std::string_view key, int64_t interval) {
  if (interval < 1)
    fail(ErrorCode::kCorruptFile, "{}: {}: expected at least 1, got {}", fields.where(), key,
         interval);
  std::vector<LayerKind> kinds;
  for (int64_t layer = 1; layer <= layers; ++layer)
    kinds.push_back(layer % interval == 0 ? LayerKind::kFullAttention : others);
  return kinds;
}

int64_t read_layer_count(const JsonFields& fields, std::optional<int64_t> otherwise) {
  const int64_t layers = otherwise ? fields.integer("num_hidden_layers").value_or(*otherwise)
                                   : fields.required_integer("num_hidden_layers");
  if (layers < 1 || layers > 10'000)
    fail(ErrorCode::kCorruptFile, "{}: num_hidden_layers: expected 1 to 10000, got {}",
         fields.where(), layers);
  return layers;
}

}  // namespace gumbel
