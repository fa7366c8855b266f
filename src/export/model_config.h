// What a model family needs to know of a checkpoint, whatever file it came from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace gumbel {

/// Rotary position embedding of one kind of layer (RoFormer, Su et al. 2021).
struct RotaryConfig {
  double theta = 10000.0;  ///< base of the frequencies
  enum class Scaling { kNone, kLinear, kLlama3 } scaling = Scaling::kNone;
  double factor = 1.0;                 ///< kLinear, kLlama3
  double low_frequency_factor = 1.0;   ///< kLlama3
  double high_frequency_factor = 4.0;  ///< kLlama3
  int64_t original_max_positions = 0;  ///< kLlama3
  /// Divisors of the frequencies [head_dim / 2] that a GGUF file carries as `rope_freqs.weight`
  /// instead of a scaling rule; empty where it has none.
  std::vector<float> divisors;
};

/// Hyperparameters in Hugging Face's terms; an importer fills them from config.json or GGUF
/// metadata.
struct ModelConfig {
  std::string architecture;  ///< the family: "llama", "qwen3", "gemma3"
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_positions = 0;  ///< the context length the model was made for
  double rms_norm_epsilon = 0;
  double attention_scale = 0;    ///< factor of the attention scores, e.g. head_dim^-0.5
  RotaryConfig rotary;           ///< full-attention layers
  RotaryConfig rotary_local;     ///< sliding-window layers, where the family tells them apart
  int64_t sliding_window = 0;    ///< positions a sliding layer sees, its own included; 0: none
  std::vector<bool> is_sliding;  ///< [layers], true for sliding-window layers
  bool tied_embeddings = false;  ///< the LM head is the embedding table
};

}  // namespace gumbel
