#include "text/quote.h"

#include <fmt/format.h>

#include "text/utf8.h"

namespace gumbel {

std::string quote_text(std::string_view text, std::size_t limit) {
  std::string out = "\"";
  for (std::size_t done = 0; done < text.size();) {
    const Utf8Step step = read_utf8(text.substr(done));
    if (done + step.length > limit) {
      out += "…";
      break;
    }
    const char32_t c = step.character;
    if (step.state != Utf8Step::State::kCharacter) {
      out += kReplacementCharacter;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c < 0x20 || (c >= 0x7F && c < 0xA0) || c == 0x2028 || c == 0x2029) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += text.substr(done, step.length);
    }
    done += step.length;
  }
  return out + '"';
}

}  // namespace gumbel
