// What a model family needs to know of a checkpoint, whatever file it came from.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "program/graph.h"

namespace gumbel {

/// Rotary position embedding of one kind of layer (RoFormer, Su et al. 2021), perhaps stretched to
/// more positions: all frequencies by a factor, by Llama 3.1's rule, or by YaRN (Peng et al. 2023).
struct RotaryConfig {
  double theta = 10000.0;  ///< base of the frequencies
  enum class Scaling { kNone, kLinear, kLlama3, kYarn } scaling = Scaling::kNone;
  /// The part of a head that is rotated, its first pairs.
  double partial_factor = 1.0;
  /// Which pairs those are. False: of the first partial_factor * head_dim elements, as if these
  /// were the head. True ("proportional"): the first of the whole head's pairs, with its
  /// frequencies.
  bool proportional = false;
  double factor = 1.0;                 ///< all but kNone
  double low_frequency_factor = 1.0;   ///< kLlama3
  double high_frequency_factor = 4.0;  ///< kLlama3
  int64_t original_max_positions = 0;  ///< kLlama3, kYarn: the context before it was stretched
  /// kYarn: turns over the original context. Pairs that turn more than beta_fast times keep their
  /// frequency, those below beta_slow are stretched by `factor`, those between are blended.
  double beta_fast = 32.0;
  double beta_slow = 1.0;
  bool truncate = true;  ///< kYarn: the pairs where the blend begins and ends are whole numbers
  /// kYarn: what multiplies the rotated elements of queries and keys.
  double attention_factor = 1.0;
  /// Divisors of the frequencies [head_dim / 2] that a GGUF file carries as `rope_freqs.weight`
  /// instead of a scaling rule; empty where it has none.
  std::vector<float> divisors;
};

/// The factor that YaRN's authors found for a context stretched by `factor`: 1 + 0.1 scale
/// ln(factor), 1 where nothing is stretched.
double yarn_attention_factor(double factor, double scale = 1.0);

/// What mixes the positions in a layer.
enum class LayerKind : uint8_t { kFullAttention, kSlidingAttention, kLinearAttention };

/// Hyperparameters in Hugging Face's terms; an importer fills them from config.json or GGUF
/// metadata.
struct ModelConfig {
  std::string architecture;  ///< the family: "llama", "qwen3", ... (models/family.cc)
  int64_t vocab_size = 0;
  int64_t hidden_size = 0;
  int64_t intermediate_size = 0;
  int64_t layers = 0;
  int64_t prediction_layers = 0;  ///< behind them, for multi-token prediction; left out
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t max_positions = 0;  ///< the context length the model was made for
  double rms_norm_epsilon = 0;
  double attention_scale = 0;  ///< factor of the attention scores, e.g. head_dim^-0.5
  RotaryConfig rotary;         ///< full-attention layers
  RotaryConfig rotary_local;   ///< sliding-window layers, where the family tells them apart
  int64_t sliding_window = 0;  ///< positions a sliding layer sees, its own included; 0: none
  std::vector<LayerKind> layer_kinds;  ///< [layers]
  bool tied_embeddings = false;        ///< the LM head is the embedding table
  double final_logit_softcap = 0;      ///< bound of the logits; 0: none

  // Mixtures of experts.
  int64_t experts = 0;                          ///< 0: dense
  int64_t experts_per_token = 0;                ///< how many of them a token uses
  int64_t expert_intermediate_size = 0;         ///< of each
  int64_t shared_expert_intermediate_size = 0;  ///< of the one that every token uses; 0: none

  // Gemma 4.
  int64_t full_head_dim = 0;         ///< of full-attention layers; head_dim is the sliding ones'
  int64_t full_kv_heads = 0;         ///< likewise
  bool keys_are_values = false;      ///< full-attention layers have no value projection
  int64_t kv_shared_layers = 0;      ///< last layers that use earlier layers' keys and values
  bool double_wide_mlp = false;      ///< and whose MLP has twice the intermediate size
  int64_t per_layer_input_size = 0;  ///< of the embedding that each layer gets; 0: none
  int64_t per_layer_vocab_size = 0;  ///< rows of its table

  // Gated delta net (linear attention).
  int64_t linear_key_heads = 0;
  int64_t linear_value_heads = 0;
  int64_t linear_key_dim = 0;
  int64_t linear_value_dim = 0;
  int64_t linear_conv_width = 0;  ///< positions that its convolution spans
  /// How the value heads of its tensors lie. Hugging Face groups them by key head; GGUF tiles them.
  /// An importer cannot put them back: quantized blocks of the output projection span heads.
  HeadOrder linear_head_order = HeadOrder::kGrouped;
};

}  // namespace gumbel
