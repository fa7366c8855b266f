#include "base/quote.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace gumbel {
namespace {

// Whether a terminal may show `character` as it is: no C0 or C1 control, no line or paragraph
// separator, no mark that changes the direction of what follows.
bool is_harmless(char32_t character) {
  const bool control = character < 0x20 || (character >= 0x7F && character < 0xA0);
  const bool separator = character == 0x2028 || character == 0x2029;
  const bool direction =
      (character >= 0x202A && character <= 0x202E) || (character >= 0x2066 && character <= 0x2069);
  return !control && !separator && !direction;
}

}  // namespace

std::string printable(std::string_view text, std::size_t limit) {
  std::string out;
  for (std::size_t done = 0; done < text.size();) {
    const Utf8Step step = read_utf8(text.substr(done));
    if (done + step.length > limit) return out + "...";
    const std::string_view bytes = text.substr(done, step.length);
    if (step.state == Utf8Step::State::kCharacter && is_harmless(step.character)) {
      out += bytes;
    } else {
      for (const char byte : bytes)
        out += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
    }
    done += step.length;
  }
  return out;
}

std::string quote(std::string_view text, std::size_t limit) {
  return fmt::format("'{}'", printable(text, limit));
}

}  // namespace gumbel
