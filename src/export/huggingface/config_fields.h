// What the readers of config.json share; one file a family has the reader itself.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json_fields.h"
#include "export/model_config.h"

namespace gumbel {

// What a family cannot compute must be absent, null, false or zero; Error(kUnsupported) otherwise.
void refuse_enabled(const JsonFields& fields, std::string_view key);
void refuse_number(const JsonFields& fields, std::string_view key);
/// Where the key is there, it must have this value.
void require_string(const JsonFields& fields, std::string_view key, std::string_view expected);

/// The context of a model, and that before it was stretched where the configuration states it
/// outside of the rule that stretches it.
struct Context {
  int64_t positions = 0;
  std::optional<int64_t> original_positions = std::nullopt;
};

/// Reads the rule by which frequencies are scaled: from a rope_scaling object, or a rope_parameters
/// one.
void read_scaling(const JsonFields& fields, const Context& context, RotaryConfig& rotary);
/// The rotary embedding of all layers, or of the full-attention ones where they differ.
/// `max_positions` is the context of the model.
RotaryConfig read_rotary(const JsonFields& fields, double default_theta, int64_t max_positions);
/// The rotary embedding of Gemma's sliding-window layers, which rope_scaling leaves alone.
RotaryConfig read_local_rotary(const JsonFields& fields, int64_t max_positions);

/// num_hidden_layers, checked before anything is allocated for so many.
int64_t read_layer_count(const JsonFields& fields, std::optional<int64_t> otherwise = std::nullopt);
/// The kinds that layer_types lists; nothing where the key is absent. Throws Error(kUnsupported)
/// naming a type that is not among those `accepted`.
std::optional<std::vector<LayerKind>> read_layer_types(
    const JsonFields& fields, std::initializer_list<std::string_view> accepted);
/// Every `interval`-th layer, counted from one, has full attention. `key` is what gave the
/// interval.
std::vector<LayerKind> every_nth_full(const JsonFields& fields, int64_t layers, LayerKind others,
                                      std::string_view key, int64_t interval);

// The readers of model families; verify_config() is the caller's.
ModelConfig read_gemma4(const JsonFields& fields);
ModelConfig read_qwen3_5(const JsonFields& fields);
ModelConfig read_qwen3_5_moe(const JsonFields& fields);

}  // namespace gumbel
