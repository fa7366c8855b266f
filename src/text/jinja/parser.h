// A template's tokens as a tree.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "text/jinja/syntax.h"

namespace gumbel::jinja {

struct Syntax {
  Block body;
  std::set<std::string, std::less<>> names;  ///< All that the template's expressions name.
};

/// Throws Error(kInvalidArgument), with the line, for what is no template, for statements that chat
/// templates do not have (extends, include, import, block, autoescape, recursive loops), and where
/// blocks or parentheses nest deeper than 100 levels or an expression has a height above 200.
Syntax parse(std::string_view source);

}  // namespace gumbel::jinja
