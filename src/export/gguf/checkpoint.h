// The tensors of a GGUF file as a checkpoint.
#pragma once

#include <memory>

#include "export/checkpoint.h"
#include "export/gguf/file.h"
#include "export/model_config.h"

namespace gumbel {

/// A checkpoint over `file`. GGUF's names become Hugging Face's (tensor_names.h), and the rows
/// of llama's query and key projections, which GGUF stores with the two halves of each head
/// interleaved, are read in half-split order (rows are whole numbers of blocks, so nothing is
/// decoded anew). Norm weights are stored as the factor already. Fused gate and up projections of
/// experts are also there as their halves. Layers for multi-token prediction are left out. `config`
/// is the file's, verified (verify_config.h). Throws Error(kUnsupported) for a tensor that the
/// architecture does not have (a bias, an expert of a dense model).
std::unique_ptr<Checkpoint> gguf_checkpoint(const std::shared_ptr<const GgufFile>& file,
                                            const ModelConfig& config);

}  // namespace gumbel
