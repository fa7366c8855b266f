// The shapes of large models, so that they can be sized and timed without their weights.
#pragma once

#include <span>
#include <string_view>

namespace gumbel {

/// A config.json of src/export/configs, under its file's name without the ending.
struct BuiltinConfig {
  std::string_view name;
  std::string_view json;
};

/// All of them, in alphabetical order.
std::span<const BuiltinConfig> builtin_configs();

}  // namespace gumbel
