// The graph pass that removes what nothing needs.
#pragma once

#include "program/graph.h"

namespace gumbel {

/// Removes the nodes of `method` that neither store into a state nor lead to one that does or to an
/// output, and the values that only they used. Inputs stay.
void prune(Method& method);

}  // namespace gumbel
