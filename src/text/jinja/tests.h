// The tests of templates: `value is name`.
#pragma once

#include <string_view>

#include "text/jinja/budget.h"
#include "text/jinja/values.h"

namespace gumbel::jinja {

bool is_test(std::string_view name);

/// Throws Error(kInvalidArgument) for a test that does not exist and for arguments that it does not
/// take.
bool apply_test(std::string_view name, const Value& value, const Arguments& arguments,
                Budget& budget);

}  // namespace gumbel::jinja
