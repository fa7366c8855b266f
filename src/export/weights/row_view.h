// Tensors that are some of another tensor's rows.
#pragma once

#include <string>

#include "export/checkpoint_index.h"

namespace gumbel {

/// Adds to `index` two tensors `prefix`gate_proj and `prefix`up_proj [E, N, K] that view the halves
/// of its tensor `prefix`gate_up_proj [E, 2 N, K]: each expert's first N rows, and its last. Throws
/// Error(kCorruptFile) naming the tensor where it has another rank or an odd number of rows.
void split_gate_up(CheckpointIndex& index, const std::string& prefix);

}  // namespace gumbel
