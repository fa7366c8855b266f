#include "base/utf8.h"

#include <gtest/gtest.h>

namespace gumbel {
namespace {

// Unicode 15, tables 3-8 to 3-11.
TEST(Utf8, ReplacesMaximalInvalidParts) {
  const std::string r(kReplacementCharacter);
  EXPECT_EQ(replace_invalid_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(replace_invalid_utf8("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"),
            r + r + r + r + r + r + r + r + "A");
  EXPECT_EQ(replace_invalid_utf8("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"),
            r + r + r + r + r + "A" + r + r + "B");
  EXPECT_EQ(replace_invalid_utf8("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), r + r + r + r + "A");
  EXPECT_EQ(replace_invalid_utf8("a\xF0\x9F\x98"), "a" + r);
  EXPECT_EQ(replace_invalid_utf8(std::string("\0a", 2)), std::string("\0a", 2));
}

TEST(Utf8, EveryScalarValueIsReadBack) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    std::string text;
    append_utf8(text, c);
    const Utf8Step step = read_utf8(text);
    const bool surrogate = c >= 0xD800 && c <= 0xDFFF;
    ASSERT_EQ(step.state == Utf8Step::State::kCharacter, !surrogate);
    if (surrogate) continue;
    ASSERT_EQ(step.length, text.size());
    ASSERT_EQ(step.character, c);
    for (std::size_t cut = 1; cut < text.size(); ++cut) {
      const Utf8Step part = read_utf8(std::string_view(text).substr(0, cut));
      ASSERT_EQ(part.state, Utf8Step::State::kTruncated);
      ASSERT_EQ(part.length, cut);
    }
  }
}

}  // namespace
}  // namespace gumbel
