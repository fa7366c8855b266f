// Synthetic weights of any shape.
#pragma once

#include <memory>

#include "export/checkpoint.h"

namespace gumbel {

/// A checkpoint that has every tensor asked for, in bfloat16, except biases (names that end in
/// ".bias"). An element is a pure function of the tensor's name and its index, so that the same
/// program comes out every time and in whatever pieces rows are read. Factors (norm weights,
/// scales and scalars) are uniform in [0.9, 1.1]; others are uniform with mean 0 and the variance
/// 1 / columns, which keeps activations near their size from layer to layer.
std::unique_ptr<Checkpoint> random_checkpoint();

}  // namespace gumbel
