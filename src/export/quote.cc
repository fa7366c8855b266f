#include "export/quote.h"

#include <fmt/format.h>

namespace gumbel {

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7E)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out;
}

std::string quote(std::string_view text) {
  constexpr size_t kLongest = 96;
  return fmt::format("'{}{}'", printable(text.substr(0, kLongest)),
                     text.size() > kLongest ? "..." : "");
}

}  // namespace gumbel
