// The backend that specifies every other: each op as one plain function.
#pragma once

#include <memory>

#include "runtime/backend.h"

namespace gumbel {

/// A backend without vectors or threads whose ops compute the bits of docs/numerics.md with plain
/// loops. Other backends are tested against it, and a new one can start from it.
std::unique_ptr<Backend> make_reference_backend();

}  // namespace gumbel
