// The matrix product that linear and expert_linear share.
#pragma once

#include "runtime/backend.h"

namespace gumbel::reference {

/// out [rows, N] = x [rows, K] W^T of one matrix [N, K].
void multiply(const PackedWeight& matrix, const float* x, int64_t rows, float* out);

}  // namespace gumbel::reference
