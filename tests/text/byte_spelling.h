// GPT-2's printable alphabet, as its authors define it.
#pragma once

#include <string>
#include <string_view>

#include "base/utf8.h"

namespace gumbel::test {

/// How byte-level vocabularies spell `bytes`: printable bytes of Latin-1 as the character of that
/// number, the others, ascending, as the characters from U+0100 on.
inline std::string spelling_of_bytes(std::string_view bytes) {
  const auto printable = [](int byte) {
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
  };
  std::string spelling;
  for (const char c : bytes) {
    const int byte = static_cast<unsigned char>(c);
    char32_t character = 0x100;
    for (int other = 0; other < byte; ++other) character += printable(other) ? 0 : 1;
    append_utf8(spelling, printable(byte) ? static_cast<char32_t>(byte) : character);
  }
  return spelling;
}

}  // namespace gumbel::test
