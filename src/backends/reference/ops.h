// The ops of the reference backend. Each computes what docs/numerics.md says, with plain loops;
// shapes are those at `Op` in src/program/graph.h.
#pragma once

#include "runtime/backend.h"

namespace gumbel::reference {

void embedding(const OpCall& call);
void rms_norm(const OpCall& call);
void linear(const OpCall& call);
void rotary_table(const OpCall& call);
void rotary(const OpCall& call);
void cache_update(const OpCall& call);
void attention(const OpCall& call);
void add(const OpCall& call);
void gated_activation(const OpCall& call);
void select_last(const OpCall& call);
void sample(const OpCall& call);
void scale(const OpCall& call);
void soft_cap(const OpCall& call);
void slice(const OpCall& call);
void router(const OpCall& call);
void expert_linear(const OpCall& call);
void expert_sum(const OpCall& call);
void causal_conv(const OpCall& call);
void gated_delta_rule(const OpCall& call);

/// The sum of 16 partial sums by the fixed tree; `partial` is overwritten.
float tree_sum(float (&partial)[16]);

}  // namespace gumbel::reference
