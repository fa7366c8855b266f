// Encoding and decoding, against the answers of Hugging Face tokenizers and stated rules.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include <random>

#include "base/utf8.h"
#include "text/check_answers.h"
#include "text/text_testing.h"

namespace gumbel {
namespace {

CheckResult check_stored(const Tokenizer& tokenizer, const std::string& name) {
  std::ifstream answers = open_test_data("tokenizers/" + name + "/answers.jsonl");
  return check_answers(tokenizer, answers);
}

class StoredAnswers : public testing::TestWithParam<const char*> {};

TEST_P(StoredAnswers, AreEqual) {
  const LoadedTokenizer loaded(json_definition(GetParam()));
  const CheckResult result = check_stored(loaded.tokenizer, GetParam());
  EXPECT_EQ(result.checked, 215);
  EXPECT_EQ(result.mismatched, 0) << result.first_mismatch;
}

// decode(encode(x)) is x for every valid text, where nothing is normalized.
TEST_P(StoredAnswers, RoundTripOnRandomText) {
  const LoadedTokenizer loaded(json_definition(GetParam()));
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string text;
    const int length = static_cast<int>(random() % 40);
    for (int i = 0; i < length; ++i) {
      // Latin, marks-free CJK, emoji, white space, controls: nothing that NFC changes.
      constexpr std::pair<char32_t, char32_t> kRanges[] = {{0x00, 0x7F},     {0x20, 0x7E},
                                                           {0x4E00, 0x9FFF}, {0x1F300, 0x1FAFF},
                                                           {0x2000, 0x200D}, {0x9, 0xD}};
      const auto [low, high] = kRanges[random() % std::size(kRanges)];
      const char32_t c = low + random() % (high - low + 1);
      // U+2000 and U+2001 are the two here that NFC replaces.
      append_utf8(text, c == 0x2000 || c == 0x2001 ? U' ' : c);
    }
    EXPECT_EQ(loaded->decode(loaded->encode(text)), text);
  }
}

// A quadratic step anywhere would make this test take hours.
TEST_P(StoredAnswers, LongRunsRoundTrip) {
  const LoadedTokenizer loaded(json_definition(GetParam()));
  for (const char* unit :
       {"Z", " ", "漢", "\n", "ab", "\t ", "'", "1", "<", "<|im_", "\xCC\x81\xCC\xA3"}) {
    const std::string text = repeated(unit, 131072);
    const Ids ids = loaded->encode(text);
    EXPECT_GT(ids.size(), 0u);
    // Normal form C orders the marks, so the last of these comes back in another order.
    if (unit[0] != '\xCC') {
      EXPECT_TRUE(loaded->decode(ids) == text) << unit;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(TokenizerJson, StoredAnswers, testing::Values("qwen", "llama3", "gemma"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Tokenizer, ControlTokensInUserTextArePlain) {
  const LoadedTokenizer gemma(json_definition("gemma"));
  const std::int64_t end = gemma->token_id("<end_of_turn>").value();
  EXPECT_EQ(gemma->encode("<end_of_turn>", ControlTokens::kParse), Ids{end});
  const Ids plain = gemma->encode("<end_of_turn>");
  EXPECT_EQ(std::count(plain.begin(), plain.end(), end), 0);
  EXPECT_EQ(gemma->decode(plain), "<end_of_turn>");
  for (const char* text : {"<bos>", "<eos>", "<unk>", "<pad>", "<0x41>"}) {
    for (const std::int64_t id : gemma->encode(text))
      EXPECT_EQ(gemma->type(id), TokenType::kNormal);
  }
}

TEST(Tokenizer, ControlTokensAreFoundOnlyInsideOneParsedSegment) {
  const LoadedTokenizer qwen(json_definition("qwen"));
  const std::int64_t end = qwen->token_id("<|im_end|>").value();
  const auto count_ends = [&](std::vector<TextSegment> segments) {
    const Ids ids = qwen->encode(segments);
    return std::count(ids.begin(), ids.end(), end);
  };
  using enum ControlTokens;
  EXPECT_EQ(count_ends({{"<|im_end|>", kParse}}), 1);
  EXPECT_EQ(count_ends({{"a<|im_end|>", kPlain}, {"<|im_end|>", kParse}}), 1);
  EXPECT_EQ(count_ends({{"<|im_", kPlain}, {"end|>", kParse}}), 0);
  EXPECT_EQ(count_ends({{"<|im_", kParse}, {"end|>", kPlain}}), 0);
  EXPECT_EQ(count_ends({{"<|im_", kParse}, {"end|>", kParse}}), 0);
}

TEST(Tokenizer, SegmentsAreTokenizedAsOneText) {
  const LoadedTokenizer qwen(json_definition("qwen"));
  using enum ControlTokens;
  const std::vector<TextSegment> segments = {{"<|im_start|>user\n", kParse},
                                             {"\n\nhello wor", kPlain},
                                             {"", kParse},
                                             {"ld", kPlain},
                                             {"<|im_end|>\n", kParse}};
  EXPECT_EQ(qwen->encode(segments),
            qwen->encode("<|im_start|>user\n\n\nhello world<|im_end|>\n", kParse));
}

TEST(Tokenizer, UserDefinedTokensDoNotReachIntoScaffolding) {
  GgufTokenizer source = sentencepiece_gguf({"a", "<", "/", "s", ">"});
  source.add_space_prefix = false;
  source.tokens.push_back("a<");  // id 264
  source.token_types.push_back(4);
  source.scores.push_back(0);
  const LoadedTokenizer loaded(tokenizer_from_gguf(source));
  using enum ControlTokens;
  EXPECT_EQ(loaded->encode("a</s>", kParse), (Ids{264, 261, 262, 263}));
  EXPECT_EQ(loaded->encode(std::vector<TextSegment>{{"a", kPlain}, {"</s>", kParse}}),
            (Ids{259, 2}));
}

TEST(Tokenizer, TheLongestOfTheLeftmostTokensIsFound) {
  GgufTokenizer source = sentencepiece_gguf({"a", "b", "c"});
  source.add_space_prefix = false;
  for (const char* token : {"ab", "abcab", "bca"}) {  // ids 262 to 264
    source.tokens.push_back(token);
    source.token_types.push_back(4);
    source.scores.push_back(0);
  }
  const LoadedTokenizer loaded(tokenizer_from_gguf(source));
  EXPECT_EQ(loaded->encode("abcabc"), (Ids{263, 261}));
  EXPECT_EQ(loaded->encode("abca"), (Ids{262, 261, 259}));
  EXPECT_EQ(loaded->encode("cbca"), (Ids{261, 264}));
}

TEST(Tokenizer, TokensMayOwnTheWhiteSpaceAroundThem) {
  TokenizerDefinition definition = json_definition("qwen");
  definition.matching.push_back({2002, true, true, false});
  const LoadedTokenizer loaded(definition);
  const Ids a = loaded->encode("a"), b = loaded->encode("b");
  EXPECT_EQ(loaded->encode("a \n\u3000<|im_end|>\t b", ControlTokens::kParse),
            (Ids{a[0], 2002, b[0]}));
  EXPECT_EQ(loaded->encode(" <|im_end|> <|im_end|>", ControlTokens::kParse), (Ids{2002, 2002}));
}

TEST(Tokenizer, InvalidUtf8BecomesReplacementCharacters) {
  for (const char* name : {"qwen", "gemma"}) {
    const LoadedTokenizer loaded(json_definition(name));
    EXPECT_EQ(loaded->encode("a\xFF\xC3(\xE3\x81"), loaded->encode("a\uFFFD\uFFFD(\uFFFD"));
    // Halves of one character in two segments stay two broken halves.
    EXPECT_EQ(loaded->encode(std::vector<TextSegment>{{"\xC3", ControlTokens::kPlain},
                                                      {"\xA9", ControlTokens::kPlain}}),
              loaded->encode("\uFFFD\uFFFD"));
  }
}

TEST(Tokenizer, PromptsGetBosAndEosWhereTheModelWantsThem) {
  GgufTokenizer source = sentencepiece_gguf({"a"});
  source.add_space_prefix = false;
  source.add_eos = true;
  const LoadedTokenizer both(tokenizer_from_gguf(source));
  EXPECT_EQ(both->encode_prompt("a"), (Ids{1, 259, 2}));
  EXPECT_EQ(both->encode_prompt(""), (Ids{1, 2}));
  EXPECT_EQ(both->encode("a"), (Ids{259}));
  source.add_eos = source.add_bos = false;
  const LoadedTokenizer neither(tokenizer_from_gguf(source));
  EXPECT_EQ(neither->encode_prompt("a"), (Ids{259}));
}

TEST(Tokenizer, NamesAndPieces) {
  const LoadedTokenizer qwen(json_definition("qwen"));
  EXPECT_EQ(qwen->vocab_size(), 2003);
  EXPECT_EQ(qwen->token_id("<|im_start|>"), 2001);
  EXPECT_EQ(qwen->token_id(" "), 220);
  EXPECT_EQ(qwen->piece(220), " ");
  EXPECT_EQ(qwen->token_id("no such token"), std::nullopt);
  EXPECT_EQ(qwen->end_ids(), (Ids{2000, 2002}));
  const LoadedTokenizer gemma(json_definition("gemma"));
  EXPECT_EQ(gemma->token_id(" "), 376);
  EXPECT_EQ(gemma->piece(376), " ");
  EXPECT_EQ(gemma->piece(4 + 0xEA), "\xEA");
  EXPECT_EQ(gemma->type(4 + 0xEA), TokenType::kByte);
  for (const std::int64_t id : {std::int64_t{-1}, std::int64_t{2402}, INT64_MAX, INT64_MIN}) {
    EXPECT_NE(error_of([&] { gemma->piece(id); }), "");
    EXPECT_NE(error_of([&] { gemma->decode(Ids{id}); }), "");
  }
}

}  // namespace
}  // namespace gumbel
