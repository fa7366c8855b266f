// Values as text, as Python spells them.
#pragma once

#include <string>

#include "text/jinja/budget.h"
#include "text/jinja/text.h"
#include "text/jinja/values.h"

namespace gumbel::jinja {

/// Python's str(): what printing a value prints. Quotes and commas are the template's, the rest
/// keeps its origin.
Text to_text(const Value& value, Budget& budget);

/// Python's repr() of a finite number: the shortest digits that read back as it.
std::string spell_number(double number);

}  // namespace gumbel::jinja
