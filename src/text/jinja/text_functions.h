// What Python's strings do, on text whose bytes keep their origin.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>
#include <vector>

#include "text/jinja/budget.h"
#include "text/jinja/text.h"
#include "text/jinja/values.h"

namespace gumbel::jinja {

enum class Case : std::uint8_t {
  kUpper,
  kLower,
  kCapitalized,  ///< The first character in upper case, the others in lower case.
  kTitle,        ///< Every first letter of a word in upper case, the others in lower case.
};

/// By Unicode's mappings of one character to one (UnicodeData.txt), and ß to SS; not by the others
/// of SpecialCasing.txt.
Text change_case(const Text& text, Case wanted, Budget& budget);

/// No bound on how often.
inline constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

/// The first `count` occurrences of `from` replaced by `to`; an empty `from` is before every
/// character and at the end.
Text replace(const Text& text, const Text& from, const Text& to, std::size_t count, Budget& budget);

/// The parts between separators, of which the first `count` are taken, the last ones `from_right`.
/// Without a separator: the parts between white space, none of which is empty. Throws
/// Error(kInvalidArgument) for an empty separator.
std::vector<Value> split(const Text& text, const Text* separator, std::size_t count,
                         bool from_right, Budget& budget);

/// Lines without their ends, or with them.
std::vector<Value> split_lines(const Text& text, bool keep_ends, Budget& budget);

/// The texts of `items` with `separator` between them.
Text join(const std::vector<Value>& items, const Text& separator, Budget& budget);

/// Where `part` begins within bytes [begin, end) of `text`, first or last.
std::optional<std::size_t> find(const Text& text, const Text& part, std::size_t begin,
                                std::size_t end, bool from_right, Budget& budget);

/// How often `part` occurs without overlaps.
std::size_t count_occurrences(const Text& text, const Text& part, Budget& budget);

/// `text` in a field of `width` characters; the side is where the text is.
Text justify(const Text& text, std::int64_t width, const Text& fill, Side side, Budget& budget);

/// Python's str.format with fields {}, {0} and {name}. Throws Error(kInvalidArgument) for a missing
/// argument and for conversions, attributes and format specifications, which are not supported.
Text format(const Text& pattern, const Arguments& arguments, Budget& budget);

}  // namespace gumbel::jinja
