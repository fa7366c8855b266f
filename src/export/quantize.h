// Gumbel's own quantizers: float weights to groups of 32.
#pragma once

#include "program/weight_rows.h"

namespace gumbel {

/// The 4-bit type that quantizing makes. The minimum of q4_1 costs 5 bits a weight instead of 4.5
/// and leaves a fifth less error than q4_0 on normally distributed weights (docs/importing.md).
inline constexpr WeightType kFourBitType = WeightType::kQ4_1;

/// Quantizes rows of a float type to kQ8_0, kQ4_0 or kQ4_1. Each group of 32 columns is on its own:
/// its scale (and minimum) are float16 values chosen among a few candidates for the least sum of
/// squared errors, and each code is the nearest one under them. The result depends on the weights
/// alone. No weight of a group is further from its value than half a step, plus what rounding scale
/// and minimum to float16 moves the ends of the range.
///
/// Throws Error(kUnsupported) where `source` is quantized already, `target` is another type or 32
/// does not divide the columns, and Error(kInvalidArgument) naming row and column of a weight that
/// is not finite, or so large that its group's scale or minimum exceeds float16's largest, 65504.
WeightRows quantize(const WeightRows& source, WeightType target);

}  // namespace gumbel
