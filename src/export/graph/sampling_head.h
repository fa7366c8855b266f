// The graph pass that makes a method return tokens instead of logits.
#pragma once

#include "program/program.h"

namespace gumbel {

/// Gives `method` of `program`, whose one output is logits f32 [B, V] or [B, T, V], a sampling
/// head: it keeps its own inputs, gains temperature f32, top_k i64, top_p f32, seed i64 and min_p
/// f32 (default 0: off), each [1 or B], and returns the drawn tokens i64 [B]. The position of the
/// draw is that after its input `input_pos` [B, T], and 0 where it has none. Throws
/// Error(kInvalidArgument) for a method with other outputs, with inputs of those names or with
/// defaults (which those without could not follow), and leaves it as it was.
void add_sampling_head(const Program& program, Method& method);

}  // namespace gumbel
