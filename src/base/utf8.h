// UTF-8, valid and otherwise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace gumbel {

/// U+FFFD in UTF-8, which stands for what is not a character.
inline constexpr std::string_view kReplacementCharacter = "\xEF\xBF\xBD";

/// The start of a byte string, read as UTF-8.
struct Utf8Step {
  enum class State : std::uint8_t {
    kCharacter,  ///< The first `length` bytes are one character.
    kInvalid,    ///< They are a maximal part that no bytes after it could make a character.
    kTruncated,  ///< They are the whole string and the beginning of a character.
  };
  State state;
  std::size_t length;      ///< 1 to 4.
  char32_t character = 0;  ///< Of kCharacter.
};

/// Reads the start of `text`, which must not be empty. Overlong forms, surrogates and values above
/// U+10FFFF are invalid (Unicode 15, table 3-7).
Utf8Step read_utf8(std::string_view text);

/// Appends `character`, a Unicode scalar value, in UTF-8.
void append_utf8(std::string& out, char32_t character);

/// `text` with every maximal invalid part, and a truncated end, replaced by U+FFFD.
std::string replace_invalid_utf8(std::string_view text);

/// Whether the Unicode property White_Space holds.
bool is_white_space(char32_t character);

}  // namespace gumbel
