#include "text/jinja/characters.h"

#include <algorithm>

#include "base/utf8.h"

namespace gumbel::jinja {

bool is_space(char32_t character) {
  return is_white_space(character) || (character >= 0x1C && character <= 0x1F);
}

std::size_t first_length(std::string_view text) {
  const Utf8Step step = read_utf8(text);
  return step.state == Utf8Step::State::kCharacter ? step.length : 1;
}

char32_t first_character(std::string_view text) {
  const Utf8Step step = read_utf8(text);
  return step.state == Utf8Step::State::kCharacter ? step.character : U'\uFFFD';
}

std::size_t last_length(std::string_view text) {
  // A character has at most four bytes, so that which ends the text begins within the last four.
  for (std::size_t length = std::min<std::size_t>(4, text.size()); length > 1; --length) {
    if (first_length(text.substr(text.size() - length)) == length) return length;
  }
  return 1;
}

std::string_view strip_white_space(std::string_view text, Side side) {
  if (side != Side::kRight) {
    while (!text.empty() && is_space(first_character(text))) text.remove_prefix(first_length(text));
  }
  if (side != Side::kLeft) {
    while (!text.empty()) {
      const std::size_t length = last_length(text);
      if (!is_space(first_character(text.substr(text.size() - length)))) break;
      text.remove_suffix(length);
    }
  }
  return text;
}

std::size_t count_characters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(first_length(text));
  return count;
}

std::size_t byte_offset(std::string_view text, std::size_t index) {
  std::size_t offset = 0;
  for (; index > 0 && offset < text.size(); --index) offset += first_length(text.substr(offset));
  return offset;
}

}  // namespace gumbel::jinja
