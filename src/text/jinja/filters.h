// The filters of templates: `value | name`.
#pragma once

#include <string_view>

#include "text/jinja/budget.h"
#include "text/jinja/values.h"

namespace gumbel::jinja {

bool is_filter(std::string_view name);

/// Throws Error(kInvalidArgument) for a filter that does not exist and for what it does not take.
Value apply_filter(std::string_view name, const Value& value, const Arguments& arguments,
                   Budget& budget);

using FilterFunction = Value (*)(const Value&, const Arguments&, Budget&);

/// Of texts and single values: filters_text.cc. Null where there is none of this name.
FilterFunction find_text_filter(std::string_view name);

/// Of lists and dicts: filters_list.cc. Likewise.
FilterFunction find_list_filter(std::string_view name);

}  // namespace gumbel::jinja
