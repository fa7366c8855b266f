// Whether weights are numbers.
#pragma once

#include "program/weight_rows.h"

namespace gumbel {

/// Throws Error(kInvalidArgument) naming row and column of the first weight that is NaN or
/// infinite. Messages count rows from `first_row` on.
void verify_finite(const WeightRows& rows, int64_t first_row = 0);

}  // namespace gumbel
