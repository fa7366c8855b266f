// What the readers of GGUF metadata share; one file a family has the reader itself.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/gguf/file.h"
#include "export/model_config.h"

namespace gumbel {

/// The keys of one architecture: "llama." and so on are put before the names. Accessors throw
/// Error as GgufFile's do.
class GgufKeys {
 public:
  GgufKeys(const GgufFile& file, std::string_view architecture)
      : file_(file), prefix_(std::string(architecture) + ".") {}

  const GgufFile& file() const { return file_; }
  /// The key with its prefix, for messages.
  std::string full(std::string_view name) const { return prefix_ + std::string(name); }
  std::optional<int64_t> integer(std::string_view name) const { return file_.integer(full(name)); }
  std::optional<double> number(std::string_view name) const { return file_.number(full(name)); }
  std::optional<std::string_view> string(std::string_view name) const {
    return file_.string(full(name));
  }

  /// Throws Error(kNotFound) naming a missing key.
  int64_t required_integer(std::string_view name) const;
  double required_number(std::string_view name) const;
  /// A value that may also be written as an array of one entry a layer, all equal. Throws
  /// Error(kUnsupported) where they differ.
  std::optional<int64_t> uniform_integer(std::string_view name) const;
  /// An array of one entry a layer, booleans as 0 and 1; a single value stands for all layers.
  /// Throws Error(kCorruptFile) for an array of another length.
  std::optional<std::vector<int64_t>> layer_integers(std::string_view name, int64_t layers) const;
  /// A feature that the families lack: the key must be absent or have the value `expected`.
  /// Error(kUnsupported) otherwise.
  void refuse_number(std::string_view name, double expected = 0) const;

 private:
  [[noreturn]] void missing(std::string_view name) const;

  const GgufFile& file_;
  std::string prefix_;
};

/// What all families have, whatever their layers: sizes, heads, head_dim, epsilon, and layer_kinds
/// of full attention only. Refuses what no family has.
ModelConfig read_gguf_sizes(const GgufKeys& keys);

/// The rotary embedding of full-attention layers, with the divisors of `rope_freqs.weight` where
/// there are any.
RotaryConfig read_gguf_rotary(const GgufKeys& keys, double default_theta);

/// The factor f for which `rotated` elements of `head_dim` are int(f * head_dim), 0 < rotated <=
/// head_dim.
double partial_rotary_factor(int64_t rotated, int64_t head_dim);

/// Reads expert_count (0 or absent: none) and what comes with it. Refuses gates that are not a
/// softmax over the chosen experts.
void read_gguf_experts(const GgufKeys& keys, ModelConfig& config);

// The readers of model families; architecture and verify_config() are the caller's.
ModelConfig read_gguf_gemma4(const GgufKeys& keys);
ModelConfig read_gguf_qwen3_5(const GgufKeys& keys);
ModelConfig read_gguf_qwen3_5_moe(const GgufKeys& keys);

}  // namespace gumbel
