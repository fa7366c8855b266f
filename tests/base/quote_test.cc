#include "base/quote.h"

#include <gtest/gtest.h>

#include <string>

#include "base/utf8.h"

namespace gumbel {
namespace {

TEST(Quote, KeepsWhatATerminalMayShow) {
  EXPECT_EQ(quote("blk.0.attn_q"), "'blk.0.attn_q'");
  EXPECT_EQ(quote("Привет, 日本 🙂"), "'Привет, 日本 🙂'");
  EXPECT_EQ(quote(""), "''");
}

TEST(Quote, EscapesWhatWouldBreakOrReorderALine) {
  EXPECT_EQ(quote("a\nb\x1b[31m\x7f"), R"('a\x0ab\x1b[31m\x7f')");
  EXPECT_EQ(quote("\u0085\u2028\u202E\u2066"), R"('\xc2\x85\xe2\x80\xa8\xe2\x80\xae\xe2\x81\xa6')");
  EXPECT_EQ(quote("a\xFF\xC3"), R"('a\xff\xc3')");
}

TEST(Quote, EveryByteStringBecomesOneLineOfUtf8) {
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second) {
      const std::string text = {static_cast<char>(first), static_cast<char>(second)};
      const std::string shown = printable(text);
      EXPECT_EQ(replace_invalid_utf8(shown), shown);
      EXPECT_EQ(shown.find('\n'), std::string::npos);
    }
}

TEST(Quote, CutsBetweenCharacters) {
  EXPECT_EQ(quote("日本", 3), "'日...'");
  EXPECT_EQ(quote("日本", 5), "'日...'");
  EXPECT_EQ(quote("日本", 6), "'日本'");
  EXPECT_EQ(quote(std::string(97, 'x')), "'" + std::string(96, 'x') + "...'");
}

}  // namespace
}  // namespace gumbel
