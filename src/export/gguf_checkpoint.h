// The tensors of a GGUF file as a checkpoint.
#pragma once

#include <memory>

#include "export/checkpoint.h"
#include "export/gguf_file.h"
#include "export/model_config.h"

namespace gumbel {

/// A checkpoint over `file`. GGUF's names become Hugging Face's, and the rows of llama's query and
/// key projections, which GGUF stores with the two halves of each head interleaved, are read in
/// half-split order (rows are whole numbers of blocks, so nothing is decoded anew). Gemma's norm
/// weights are stored as 1 + w already. `config` is the file's, verified (verify_config.h). Throws
/// Error(kUnsupported) for a tensor that the architecture does not have (a bias, an expert).
std::unique_ptr<Checkpoint> gguf_checkpoint(const std::shared_ptr<const GgufFile>& file,
                                            const ModelConfig& config);

}  // namespace gumbel
