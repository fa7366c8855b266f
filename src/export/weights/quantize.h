// Gumbel's own quantizers: float weights to groups of 32.
#pragma once

#include "program/weight_rows.h"

namespace gumbel {

/// The 4-bit type that quantizing makes; docs/importing.md compares it with q4_0.
inline constexpr WeightType kFourBitType = WeightType::kQ4_1;
/// The same for routed experts, which are nearly all of a model's bytes: a tenth less memory.
inline constexpr WeightType kFourBitExpertType = WeightType::kQ4_0;

/// Quantizes rows of a float type to kQ8_0, kQ4_0 or kQ4_1. Each group of 32 columns is on its own:
/// among a few candidates, whose scale (and minimum) are float16 values and whose codes are the
/// nearest ones under them, it takes the one with the least sum of squared errors. The candidates
/// include the plain choice that spreads the codes over the group's range, so the error is never
/// above that one's. Groups whose weights are scale * code (- minimum) already are kept exactly:
/// for kQ4_0 any such group; for kQ8_0 one that has the code 127, -127 or -128; for kQ4_1 one that
/// has the codes 0 and 15, and one that is q4_0 with the code -8. The result depends on the weights
/// alone.
///
/// Messages count rows from `first_row` on. Throws Error(kUnsupported) where `source` is quantized
/// already, `target` is another type or 32 does not divide the columns, and Error(kInvalidArgument)
/// naming row and column of a weight that is not finite, or the row and group of weights whose
/// scale or minimum exceeds float16's 65504.
WeightRows quantize(const WeightRows& source, WeightType target, int64_t first_row = 0);

}  // namespace gumbel
