#include "cli/word_wrap.h"

#include <gtest/gtest.h>
#include <utf8proc.h>

#include <algorithm>
#include <random>
#include <vector>

#include "base/utf8.h"

namespace gumbel::cli {
namespace {

using Line = std::vector<std::pair<std::string, int>>;  // characters and how wide they are

int width_of(const std::string& character) {
  return utf8proc_charwidth(static_cast<utf8proc_int32_t>(read_utf8(character).character));
}

std::vector<std::string> characters_of(std::string_view text) {
  std::vector<std::string> characters;
  while (!text.empty()) {
    const size_t length = read_utf8(text).length;
    characters.emplace_back(text.substr(0, length));
    text.remove_prefix(length);
  }
  return characters;
}

// What a terminal shows that was sent `output`: its lines, without spaces at their ends.
std::vector<std::string> shown(std::string_view output, int columns) {
  std::vector<Line> lines(1);
  while (!output.empty()) {
    if (output.starts_with("\x1b[")) {
      const size_t end = output.find_first_not_of("0123456789", 2);
      if (output[end] == 'D') {
        for (int left = std::stoi(std::string(output.substr(2, end - 2))); left > 0;) {
          EXPECT_FALSE(lines.back().empty());
          left -= lines.back().back().second;
          lines.back().pop_back();
        }
      } else {
        EXPECT_EQ(output[end], 'K');  // all behind the cursor is gone already
      }
      output.remove_prefix(end + 1);
      continue;
    }
    const std::string character(output.substr(0, read_utf8(output).length));
    output.remove_prefix(character.size());
    if (character == "\n") {
      lines.emplace_back();
      continue;
    }
    int column = 0;
    for (const auto& [ignored, width] : lines.back()) column += width;
    const int width = character == "\t" ? 8 - column % 8 : width_of(character);
    EXPECT_LT(column + width, columns) << "the last column stays empty";
    lines.back().emplace_back(character, width);
  }
  std::vector<std::string> texts;
  for (const Line& line : lines) {
    std::string text;
    for (const auto& [character, width] : line) text += character;
    text.erase(text.find_last_not_of(' ') + 1);
    texts.push_back(text);
  }
  return texts;
}

std::vector<std::string> wrapped(const std::vector<std::string>& pieces, int columns) {
  WordWrap wrap;
  std::string output;
  for (const std::string& piece : pieces) output += wrap.add(piece, columns);
  return shown(output, columns);
}

using Lines = std::vector<std::string>;

TEST(WordWrap, WordsGoToTheNextLineWhole) {
  EXPECT_EQ(wrapped({"the quick brown fox"}, 11), (Lines{"the quick", "brown fox"}));
  EXPECT_EQ(wrapped({"the qui", "ck bro", "wn ", "fox"}, 11), (Lines{"the quick", "brown fox"}));
  EXPECT_EQ(wrapped({"1234567890 abc"}, 11), (Lines{"1234567890", "abc"}));
  EXPECT_EQ(wrapped({"1234567890\nabc"}, 11), (Lines{"1234567890", "abc"}));
  EXPECT_EQ(wrapped({"a\n\n  b"}, 11), (Lines{"a", "", "  b"}));
}

TEST(WordWrap, AWordLongerThanALineBreaks) {
  EXPECT_EQ(wrapped({"a 123456789012345678 b"}, 11), (Lines{"a", "1234567890", "12345678 b"}));
}

TEST(WordWrap, WideCharactersBreakAnywhereAndMarksTakeNoRoom) {
  EXPECT_EQ(wrapped({"日本語は空白なし"}, 8), (Lines{"日本語", "は空白", "なし"}));
  EXPECT_EQ(wrapped({"aaaa e\u0301e\u0301 b"}, 9), (Lines{"aaaa e\u0301e\u0301", "b"}));
}

TEST(WordWrap, ControlCharactersAreShown) {
  EXPECT_EQ(WordWrap().add("a\x1b[2Jb\x07\x7f\r\n\u009Bc", 80), "a␛[2Jb␇␡\n\uFFFDc");
  EXPECT_EQ(WordWrap().add("a\tb", 80), "a\tb");
}

TEST(WordWrap, WithoutAWidthNothingIsMoved) {
  const std::string text(500, 'x');
  EXPECT_EQ(WordWrap().add(text + " " + text, 0), text + " " + text);
}

// However the text is cut, the same is shown, and all of it.
TEST(WordWrap, PiecesMakeNoDifference) {
  std::mt19937 random(1);
  const std::vector<std::string> letters = {"a", "b", "é", "e\u0301", " ", " ", "\n", "日", "\t"};
  for (int i = 0; i < 500; ++i) {
    const int columns = 5 + static_cast<int>(random() % 20);
    std::string text;
    for (int k = 0; k < 200; ++k) text += letters[random() % letters.size()];
    const Lines whole = wrapped({text}, columns);
    EXPECT_EQ(wrapped(characters_of(text), columns), whole);
    // Nothing but blanks is lost.
    std::string without_blanks, expected;
    for (const std::string& line : whole)
      for (const char c : line)
        if (c != ' ' && c != '\t') without_blanks += c;
    for (const char c : text)
      if (c != ' ' && c != '\t' && c != '\n') expected += c;
    EXPECT_EQ(without_blanks, expected);
  }
}

}  // namespace
}  // namespace gumbel::cli
