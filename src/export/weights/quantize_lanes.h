// The arithmetic of quantizing: the best scale, minimum and codes of sixteen groups at once.
#pragma once

#include <vector>

#include "program/weight_type.h"

namespace gumbel {

/// Groups that are quantized together, one in each lane of a vector.
inline constexpr int kQuantizeLanes = 16;
/// Weights of a group.
inline constexpr int kQuantizeGroup = 32;

/// One number of each group.
using QuantizeLane = float[kQuantizeLanes];

/// Sixteen groups, their weights and what becomes of them. Weight k of a group is
/// scale * codes[k] - minimum, codes being integers before the type's zero is added.
struct QuantizeBlock {
  alignas(64) QuantizeLane weights[kQuantizeGroup];  ///< finite
  alignas(64) QuantizeLane scale;                    ///< float16 values
  alignas(64) QuantizeLane minimum;                  ///< float16 values; 0 in types without one
  alignas(64) QuantizeLane error;  ///< sum of squares; infinite where no scale is in range
  alignas(64) QuantizeLane codes[kQuantizeGroup];
};

/// The widths of vectors, in lanes, that this machine can quantize with, widest first; 4 is the
/// last.
std::vector<int> quantize_vector_lanes();

/// Quantizes `block` to kQ8_0, kQ4_0 or kQ4_1 as quantize.h says, each group on its own.
/// `vector_lanes` is one of quantize_vector_lanes(); all compute the same bits.
void quantize_block(WeightType target, int vector_lanes, QuantizeBlock& block);

}  // namespace gumbel
