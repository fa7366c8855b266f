// Python's methods of strings.
#pragma once

#include <string_view>

#include "text/jinja/budget.h"
#include "text/jinja/text.h"
#include "text/jinja/values.h"

namespace gumbel::jinja {

bool has_string_method(std::string_view name);

/// Throws Error(kInvalidArgument) for arguments that the method does not take.
Value call_string_method(const Text& text, std::string_view name, const Arguments& arguments,
                         Budget& budget);

}  // namespace gumbel::jinja
