// The functions that templates find without defining them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "text/jinja/budget.h"
#include "text/jinja/values.h"

namespace gumbel::jinja {

/// Whether there is a function of this name.
bool is_global(std::string_view name);

/// Calls it: range, dict, namespace (which is added to `namespaces`), raise_exception and
/// strftime_now. Throws Error(kInvalidArgument) for arguments that it does not take, and always for
/// raise_exception.
Value call_global(std::string_view name, const Arguments& arguments,
                  std::vector<std::shared_ptr<Namespace>>& namespaces, Budget& budget);

}  // namespace gumbel::jinja
