// Model families: each one file that builds a graph.
#pragma once

#include <string_view>
#include <vector>

#include "export/graph/program_builder.h"
#include "export/model_config.h"

namespace gumbel {

/// What every language model's method begins with.
struct ModelInputs {
  ValueId tokens;     ///< i64 [B, T]
  ValueId input_pos;  ///< i64 [B, T]
};

/// A family builds the hidden states f32 [B, T, hidden_size] that its LM head reads, the final norm
/// included, with weights under Hugging Face's names.
using BuildHidden = ValueId (*)(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs);

ValueId build_llama(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs);
ValueId build_qwen3(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs);
ValueId build_gemma3(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs);
ValueId build_gemma4(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs);
ValueId build_qwen3_5(MethodBuilder& g, const ModelConfig& config, ModelInputs inputs);

/// The builder of `architecture`. Throws Error(kUnsupported) listing the families there are.
BuildHidden model_family(std::string_view architecture);

}  // namespace gumbel
