// Characters as Python's strings see them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gumbel::jinja {

enum class Side : std::uint8_t { kLeft, kRight, kBoth };

/// Whether Python's str.isspace() holds: Unicode's White_Space and the separators U+001C to U+001F.
bool is_space(char32_t character);

/// `text` without the white space at its ends.
std::string_view strip_white_space(std::string_view text, Side side);

/// The length in bytes of the first character of `text`, which must not be empty; a byte that is no
/// part of UTF-8 counts as one character.
std::size_t first_length(std::string_view text);

/// The length in bytes of the last character, likewise.
std::size_t last_length(std::string_view text);

/// The first character; U+FFFD for what is none.
char32_t first_character(std::string_view text);

/// How many characters `text` has.
std::size_t count_characters(std::string_view text);

/// The byte where character `index` begins; the size where there are not so many.
std::size_t byte_offset(std::string_view text, std::size_t index);

}  // namespace gumbel::jinja
