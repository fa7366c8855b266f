#include "base/utf8.h"

namespace gumbel {
namespace {

// What may follow a first byte: how many bytes, and the range of the first of them, which excludes
// overlong forms, surrogates and values above U+10FFFF. Later bytes are 80..BF.
struct Continuation {
  int count;
  unsigned char low, high;
};

Continuation continuation_of(unsigned char first) {
  if (first < 0xC2 || first > 0xF4) return {0, 0, 0};
  if (first < 0xE0) return {1, 0x80, 0xBF};
  if (first == 0xE0) return {2, 0xA0, 0xBF};
  if (first == 0xED) return {2, 0x80, 0x9F};
  if (first < 0xF0) return {2, 0x80, 0xBF};
  if (first == 0xF0) return {3, 0x90, 0xBF};
  if (first == 0xF4) return {3, 0x80, 0x8F};
  return {3, 0x80, 0xBF};
}

}  // namespace

Utf8Step read_utf8(std::string_view text) {
  using State = Utf8Step::State;
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return {State::kCharacter, 1, first};
  auto [count, low, high] = continuation_of(first);
  if (count == 0) return {State::kInvalid, 1};
  // A first byte before n continuation bytes holds 6 − n bits.
  char32_t character = first & (0x3Fu >> count);
  std::size_t length = 1;
  for (; count > 0; --count, ++length) {
    if (length == text.size()) return {State::kTruncated, length};
    const auto byte = static_cast<unsigned char>(text[length]);
    if (byte < low || byte > high) return {State::kInvalid, length};
    character = character << 6 | (byte & 0x3Fu);
    low = 0x80;
    high = 0xBF;
  }
  return {State::kCharacter, length, character};
}

void append_utf8(std::string& out, char32_t character) {
  const auto tail = [&](int shift) {
    out += static_cast<char>(0x80 | (character >> shift & 0x3F));
  };
  if (character < 0x80) {
    out += static_cast<char>(character);
  } else if (character < 0x800) {
    out += static_cast<char>(0xC0 | character >> 6);
    tail(0);
  } else if (character < 0x10000) {
    out += static_cast<char>(0xE0 | character >> 12);
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | character >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string replace_invalid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = read_utf8(text);
    if (step.state == Utf8Step::State::kCharacter) {
      out += text.substr(0, step.length);
    } else {
      out += kReplacementCharacter;
    }
    text.remove_prefix(step.length);
  }
  return out;
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F ||
         c == 0x3000;
}

}  // namespace gumbel
