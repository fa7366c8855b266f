// Text on a terminal whose edge breaks no word.
#pragma once

#include <string>
#include <string_view>

namespace gumbel::cli {

/// Lays out text that comes piece by piece for a terminal. Every piece is shown at once; a word
/// that reaches the edge is taken back and goes on in the next line. Control characters, which
/// could do anything to the terminal, are shown by their pictures (U+2400 to U+2421), except line
/// ends and tabs.
class WordWrap {
 public:
  /// What to write for the next piece: `text`, whole UTF-8 characters, on a terminal that is now
  /// `columns` wide; 0 where that is not known, and words then break as the terminal likes.
  std::string add(std::string_view text, int columns);

  /// The next piece begins a line.
  void begin_line();

 private:
  void add_character(std::string_view spelling, int width, int edge, std::string& out);

  int column_ = 0;    // where the next character goes
  std::string word_;  // what this line has of the word in progress
  int word_width_ = 0;
};

}  // namespace gumbel::cli
