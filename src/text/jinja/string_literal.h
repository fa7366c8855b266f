// String literals of templates.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gumbel::jinja {

/// What the inside of a literal means: the escapes of Python's strings but \N. A backslash before
/// anything else stays. Throws Error(kInvalidArgument) with `line` for an escape that is cut short
/// or names no character.
std::string unescape_string(std::string_view literal, std::size_t line);

}  // namespace gumbel::jinja
