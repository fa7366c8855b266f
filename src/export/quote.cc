#include "export/quote.h"

#include <fmt/format.h>

namespace gumbel {

std::string quote(std::string_view text) {
  constexpr size_t kLongest = 96;
  std::string out = "'";
  for (const char c : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7E)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  if (text.size() > kLongest) out += "...";
  return out + "'";
}

}  // namespace gumbel
