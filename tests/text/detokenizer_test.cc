#include "text/detokenizer.h"

#include <gtest/gtest.h>

#include "text/text_testing.h"

namespace gumbel {
namespace {

// What each id gives, and then finish().
std::vector<std::string> stream(const Tokenizer& tokenizer, const Ids& ids,
                                DetokenizerOptions options = {}) {
  Detokenizer detokenizer(tokenizer, options);
  std::vector<std::string> parts;
  for (const std::int64_t id : ids) parts.push_back(detokenizer.add(id));
  parts.push_back(detokenizer.finish());
  return parts;
}

using Parts = std::vector<std::string>;
constexpr std::int64_t kByte0 = 3;  // of sentencepiece_gguf()

TEST(Detokenizer, HoldsBytesBackUntilTheCharacterIsWhole) {
  const LoadedTokenizer loaded(tokenizer_from_gguf(sentencepiece_gguf({"a"})));
  EXPECT_EQ(stream(loaded.tokenizer, {kByte0 + 0xEA, kByte0 + 0xB9, kByte0 + 0xB0}),
            (Parts{"", "", "깰", ""}));
}

TEST(Detokenizer, BrokenCharactersBecomeReplacements) {
  const LoadedTokenizer loaded(tokenizer_from_gguf(sentencepiece_gguf({"a"})));
  const std::string r = "\uFFFD";
  EXPECT_EQ(stream(loaded.tokenizer, {kByte0 + 0xEA, kByte0 + 0xB9, 259}),
            (Parts{"", "", r + "a", ""}));
  EXPECT_EQ(stream(loaded.tokenizer, {259, kByte0 + 0xEA, kByte0 + 0xB9}), (Parts{"a", "", "", r}));
  EXPECT_EQ(stream(loaded.tokenizer, {kByte0 + 0xFF, kByte0 + 0x80}), (Parts{r, r, ""}));
  EXPECT_EQ(stream(loaded.tokenizer, {kByte0 + 0xF0, kByte0 + 0x9F, kByte0 + 0xF0}),
            (Parts{"", "", r, r}));
}

TEST(Detokenizer, StreamsByteLevelTokensInWholeCharacters) {
  const LoadedTokenizer qwen(json_definition("qwen"));
  const std::string text = "Größe 日本語 👩‍👩‍👧‍👦 한국어 end";
  std::string streamed;
  Detokenizer detokenizer(qwen.tokenizer);
  for (const std::int64_t id : qwen->encode(text)) {
    const std::string part = detokenizer.add(id);
    EXPECT_EQ(part.find("\uFFFD"), std::string::npos);
    streamed += part;
    EXPECT_TRUE(text.starts_with(streamed));
  }
  EXPECT_EQ(streamed, text);
  EXPECT_EQ(detokenizer.finish(), "");
}

TEST(Detokenizer, ControlTokensAreHiddenOrShown) {
  const LoadedTokenizer qwen(json_definition("qwen"));
  const Ids ids = qwen->encode("a<|im_end|>b", ControlTokens::kParse);
  EXPECT_EQ(stream(qwen.tokenizer, ids), (Parts{"a", "", "b", ""}));
  EXPECT_EQ(stream(qwen.tokenizer, ids, {.show_control = true}),
            (Parts{"a", "<|im_end|>", "b", ""}));
  EXPECT_EQ(qwen->decode(ids, false), "ab");
}

TEST(Detokenizer, TheFirstSpaceIsTakenOffOnlyAtTheStartOfAText) {
  const LoadedTokenizer loaded(tokenizer_from_gguf(sentencepiece_gguf({"▁a", "▁"})));
  EXPECT_EQ(stream(loaded.tokenizer, {259, 259}), (Parts{" a", " a", ""}));
  EXPECT_EQ(stream(loaded.tokenizer, {1, 259, 259}, {.at_text_start = true}),
            (Parts{"", "a", " a", ""}));
  EXPECT_EQ(loaded->decode(Ids{260, 260, 259}), "  a");
}

TEST(Detokenizer, StaysUsableAfterARefusedIdAndAfterFinish) {
  const LoadedTokenizer loaded(tokenizer_from_gguf(sentencepiece_gguf({"▁a"})));
  Detokenizer detokenizer(loaded.tokenizer, {.at_text_start = true});
  EXPECT_EQ(detokenizer.add(kByte0 + 0xC3), "");
  EXPECT_NE(error_of([&] { detokenizer.add(9999); }), "");
  EXPECT_EQ(detokenizer.add(kByte0 + 0xA9), "é");
  EXPECT_EQ(detokenizer.add(kByte0 + 0xC3), "");
  EXPECT_EQ(detokenizer.finish(), "\uFFFD");
  EXPECT_EQ(detokenizer.add(259), "a");
}

}  // namespace
}  // namespace gumbel
