// Blocks that the families share.
#pragma once

#include <string>
#include <vector>

#include "export/graph/program_builder.h"
#include "export/model_config.h"
#include "export/models/family.h"

namespace gumbel {

/// The rotary frequencies of a head, theta^(-2 i / D), scaled as `rotary` says (RoFormer; Llama
/// 3.1's rule and YaRN as in Hugging Face's modeling_rope_utils). [head_dim / 2] of them; where
/// only a part of the head is rotated, [D / 2] of that part, or, proportionally, zeros for the
/// other pairs.
std::vector<float> rotary_frequencies(const RotaryConfig& rotary, int64_t head_dim);

/// The scale of attention scores in layers with this rotary embedding, which rotates whole heads:
/// YaRN's factor multiplies both queries and keys.
double stretched_attention_scale(const ModelConfig& config, const RotaryConfig& rotary);

/// What one self-attention block needs to know.
struct SelfAttention {
  std::string prefix;  ///< of its weights: "model.layers.0.self_attn."
  ValueId rotary_table = 0;
  double attention_scale = 0;
  int64_t window = 0;       ///< 0: all earlier positions
  bool norm_heads = false;  ///< RMS norm of every query and key head (Henry et al. 2020)
};

/// Grouped-query self-attention (Ainslie et al. 2023) of x [B, T, hidden_size], without norms
/// around it or the residual.
ValueId self_attention(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs, ValueId x,
                       const SelfAttention& block);

/// down(activation(gate(x)) * up(x)), weights under `prefix` ("model.layers.0.mlp.").
ValueId gated_mlp(MethodBuilder& g, const ModelConfig& config, ValueId x, const std::string& prefix,
                  int64_t intermediate_size, Activation activation);

/// The sum of what the chosen experts make of x, each a gated MLP, weighted by the routing; the
/// experts' weights are stacked under `prefix` ("model.layers.0.mlp.experts.").
ValueId expert_mlp(MethodBuilder& g, const ModelConfig& config, ValueId x,
                   const MethodBuilder::Routing& routing, const std::string& prefix,
                   Activation activation);

/// The hidden states of a decoder whose layers norm the input of each block, with one kind of full
/// attention and SwiGLU blocks: Llama's, which others vary.
ValueId pre_norm_decoder(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs,
                         bool norm_heads);

}  // namespace gumbel
