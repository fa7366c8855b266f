#include "cli/word_wrap.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>

#include "base/utf8.h"

namespace gumbel::cli {
namespace {

constexpr int kTabStop = 8;

bool is_control(char32_t c) { return c < 0x20 || (c >= 0x7F && c < 0xA0); }

char32_t picture_of(char32_t control) {
  if (control < 0x20) return 0x2400 + control;
  return control == 0x7F ? 0x2421 : 0xFFFD;
}

}  // namespace

void WordWrap::begin_line() {
  column_ = word_width_ = 0;
  word_.clear();
}

std::string WordWrap::add(std::string_view text, int columns) {
  // The last column stays empty: a terminal whose last column is written has its cursor in two
  // places, and taking a word back from there leaves a letter behind.
  const int edge = columns > 1 ? columns - 1 : 0;
  std::string out;
  while (!text.empty()) {
    const Utf8Step step = read_utf8(text);
    const std::string_view spelling = text.substr(0, step.length);
    text.remove_prefix(step.length);
    const bool valid = step.state == Utf8Step::State::kCharacter;
    const char32_t c = valid ? step.character : U'\uFFFD';
    if (c == '\r') continue;
    if (c == '\n') {
      out += '\n';
      begin_line();
    } else if (c == ' ' || c == '\t') {
      const int next = c == ' ' ? column_ + 1 : (column_ / kTabStop + 1) * kTabStop;
      if (edge > 0 && next > edge) {
        out += '\n';  // takes the place of the space
        begin_line();
        continue;
      }
      out += static_cast<char>(c);
      begin_line();
      column_ = next;
    } else if (is_control(c) || !valid) {
      std::string picture;
      append_utf8(picture, valid ? picture_of(c) : c);
      add_character(picture, 1, edge, out);
    } else {
      add_character(spelling, std::max(0, utf8proc_charwidth(static_cast<utf8proc_int32_t>(c))),
                    edge, out);
    }
  }
  return out;
}

void WordWrap::add_character(std::string_view spelling, int width, int edge, std::string& out) {
  // Scripts with wide characters have no spaces and break anywhere.
  const bool breaks_anywhere = width == 2;
  if (edge > 0 && column_ + width > edge) {
    const bool moves = word_width_ > 0 && word_width_ < column_ && !breaks_anywhere;
    const std::string moved = moves ? std::move(word_) : std::string();
    const int moved_width = moves ? word_width_ : 0;
    if (moves) out += fmt::format("\x1b[{}D\x1b[K", moved_width);
    out += '\n';
    begin_line();
    out += moved;
    word_ = moved;
    column_ = word_width_ = moved_width;
  }
  out += spelling;
  column_ += width;
  if (breaks_anywhere) {
    word_.clear();
    word_width_ = 0;
    return;
  }
  word_ += spelling;
  word_width_ += width;
}

}  // namespace gumbel::cli
