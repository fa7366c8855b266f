#include "text/byte_alphabet.h"

#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace gumbel {
namespace {

constexpr char32_t kAlphabetEnd = 0x144;

struct Alphabet {
  std::array<std::int16_t, kAlphabetEnd> byte_of_character;  // −1: not in the alphabet

  Alphabet() {
    byte_of_character.fill(-1);
    char32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
      byte_of_character[printable ? byte : next++] = static_cast<std::int16_t>(byte);
    }
  }
};

const Alphabet& alphabet() {
  static const Alphabet instance;
  return instance;
}

// −1: not a hexadecimal digit
int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::optional<unsigned char> byte_of_spelling(std::string_view spelling) {
  if (spelling.size() != 6 || !spelling.starts_with("<0x") || spelling[5] != '>') return {};
  const int high = digit_value(spelling[3]), low = digit_value(spelling[4]);
  if (high < 0 || low < 0) return {};
  return static_cast<unsigned char>(high * 16 + low);
}

std::optional<std::string> bytes_of_spelling(std::string_view spelling) {
  std::string bytes;
  while (!spelling.empty()) {
    const Utf8Step step = read_utf8(spelling);
    if (step.state != Utf8Step::State::kCharacter || step.character >= kAlphabetEnd) return {};
    const int byte = alphabet().byte_of_character[step.character];
    if (byte < 0) return {};
    bytes += static_cast<char>(byte);
    spelling.remove_prefix(step.length);
  }
  return bytes;
}

}  // namespace gumbel
