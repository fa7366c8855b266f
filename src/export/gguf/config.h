// Hyperparameters from GGUF metadata, as llama.cpp's converter writes them.
#pragma once

#include "export/gguf/file.h"
#include "export/model_config.h"

namespace gumbel {

/// Reads the hyperparameters of architecture llama, qwen3, gemma3, gemma4, qwen35 or qwen35moe.
/// What the metadata leave out is taken from the tensors (vocabularies, tied embeddings, the rotary
/// divisors of rope_freqs.weight, which of Gemma 4's layers have experts or values of their own) or
/// from the family's fixed rules (Gemma 3: every sixth layer full, local rotary base 10,000).
///
/// Throws Error: kUnsupported for another architecture (named, with those known) and for features
/// that the families do not have; kNotFound for a missing key or embedding table; kCorruptFile for
/// a value of the wrong type or out of range.
ModelConfig read_gguf_config(const GgufFile& file);

}  // namespace gumbel
