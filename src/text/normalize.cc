#include "text/normalize.h"

#include <utf8proc.h>

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/utf8.h"

namespace gumbel {
namespace {

int combining_class(utf8proc_int32_t character) {
  return utf8proc_get_property(character)->combining_class;
}

// Sorts each run of characters of a combining class above 0 by class, keeping the order of equals.
// utf8proc's own ordering is quadratic in the length of a run.
void order_marks(std::vector<utf8proc_int32_t>& text) {
  for (auto begin = text.begin(); begin != text.end();) {
    if (combining_class(*begin) == 0) {
      ++begin;
      continue;
    }
    const auto end =
        std::find_if(begin, text.end(), [](auto c) { return combining_class(c) == 0; });
    std::stable_sort(begin, end, [](auto left, auto right) {
      return combining_class(left) < combining_class(right);
    });
    begin = end;
  }
}

}  // namespace

std::string normalize_nfc(std::string_view text) {
  // Characters below U+0300 are composed already, and nothing before them composes with them.
  const bool unchanged = std::all_of(text.begin(), text.end(),
                                     [](char c) { return static_cast<unsigned char>(c) < 0xCC; });
  if (unchanged) return std::string(text);

  // Canonical decompositions have at most 4 characters (Unicode Standard Annex 15, section 9).
  constexpr utf8proc_ssize_t kLongest = 8;
  std::vector<utf8proc_int32_t> characters;
  characters.reserve(text.size());
  while (!text.empty()) {
    const Utf8Step step = read_utf8(text);
    utf8proc_int32_t decomposed[kLongest];
    int boundary = 0;
    const utf8proc_ssize_t count =
        utf8proc_decompose_char(static_cast<utf8proc_int32_t>(step.character), decomposed, kLongest,
                                UTF8PROC_DECOMPOSE, &boundary);
    if (count < 0 || count > kLongest) {
      fail(ErrorCode::kInvalidArgument, "cannot normalize U+{:04X}: {}",
           static_cast<std::uint32_t>(step.character), utf8proc_errmsg(count));
    }
    characters.insert(characters.end(), decomposed, decomposed + count);
    text.remove_prefix(step.length);
  }
  order_marks(characters);
  const utf8proc_ssize_t composed =
      utf8proc_normalize_utf32(characters.data(), static_cast<utf8proc_ssize_t>(characters.size()),
                               static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  if (composed < 0) fail(ErrorCode::kInvalidArgument, "{}", utf8proc_errmsg(composed));

  std::string out;
  for (utf8proc_ssize_t i = 0; i < composed; ++i) {
    append_utf8(out, static_cast<char32_t>(characters[static_cast<std::size_t>(i)]));
  }
  return out;
}

}  // namespace gumbel
