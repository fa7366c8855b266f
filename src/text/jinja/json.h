// Values as JSON: the tojson filter.
#pragma once

#include <optional>
#include <string>

#include "text/jinja/budget.h"
#include "text/jinja/text.h"
#include "text/jinja/values.h"

namespace gumbel::jinja {

/// The parameters of Python's json.dumps that templates use.
struct JsonFormat {
  std::optional<std::string> indent;  ///< One level's; without, all is one line.
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  bool ascii = false;      ///< Escapes all characters beyond ASCII.
  bool sort_keys = false;  ///< By Python's <.
};

/// Strings keep their origin, escapes included; punctuation is the template's. Throws
/// Error(kInvalidArgument) for values that have no JSON: what is undefined, functions, ...
Text to_json(const Value& value, const JsonFormat& format, Budget& budget);

}  // namespace gumbel::jinja
