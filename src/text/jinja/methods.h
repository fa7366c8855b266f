// The methods of strings, lists, dicts and loops.
#pragma once

#include <string_view>

#include "text/jinja/budget.h"
#include "text/jinja/values.h"

namespace gumbel::jinja {

/// Whether `object` has a method of this name. Methods that change their object do not exist.
bool has_method(const Value& object, std::string_view name);

/// Calls it. Throws Error(kInvalidArgument) for arguments that it does not take.
Value call_method(const Value& object, std::string_view name, const Arguments& arguments,
                  Budget& budget);

}  // namespace gumbel::jinja
