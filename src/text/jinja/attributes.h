// What objects have: a.name and a[key].
#pragma once

#include <string_view>

#include "text/jinja/budget.h"
#include "text/jinja/values.h"

namespace gumbel::jinja {

/// object.name: a method before an item. Undefined where there is neither. Throws
/// Error(kInvalidArgument) for an attribute of what is undefined.
Value get_attribute(const Value& object, std::string_view name, Budget& budget);

/// object[key]: an item before a method. Likewise.
Value get_item(const Value& object, const Value& key, Budget& budget);

/// The value at a path of names and indexes: "a.b.0". Likewise.
Value get_path(const Value& object, const Value& path, Budget& budget);

/// Sets or replaces an item. Throws Error(kInvalidArgument) for a key that Python cannot hash.
void set_item(Dict& dict, const Value& key, Value value, Budget& budget);

}  // namespace gumbel::jinja
