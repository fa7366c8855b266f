// Pre-tokenizers against those of Hugging Face tokenizers (tests/data/text/pieces.jsonl).
#include "text/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/text_testing.h"

namespace gumbel {
namespace {

std::vector<std::string> split(const std::vector<SplitStep>& steps, const std::string& text) {
  std::vector<std::string> pieces;
  for (const auto [begin, end] : PreTokenizer(steps).split(text)) {
    pieces.push_back(text.substr(begin, end - begin));
  }
  return pieces;
}

SplitBehavior behavior_of(const std::string& name) {
  const char* names[] = {"Isolated", "Removed", "MergedWithPrevious", "MergedWithNext",
                         "Contiguous"};
  return static_cast<SplitBehavior>(std::find(std::begin(names), std::end(names), name) - names);
}

TEST(PreTokenizer, StoredPiecesAreEqual) {
  std::ifstream file = open_test_data("text/pieces.jsonl");
  std::string line;
  int texts = 0;
  while (std::getline(file, line)) {
    const nlohmann::json entry = nlohmann::json::parse(line);
    TokenizerDefinition definition;
    if (!entry["name"].get<std::string>().empty()) set_pre_tokenizer(definition, entry["name"]);
    for (const auto& step : entry.value("steps", nlohmann::json::array())) {
      definition.pre_tokenizer.push_back({step[0], behavior_of(step[1]), step[2]});
    }
    for (const auto& answer : entry["texts"]) {
      EXPECT_EQ(split(definition.pre_tokenizer, answer[0]),
                answer[1].get<std::vector<std::string>>())
          << entry["name"] << entry.value("steps", nlohmann::json()) << answer[0];
      ++texts;
    }
  }
  EXPECT_GT(texts, 1000);
}

TEST(PreTokenizer, WhiteSpaceIsWhiteSpaceEverywhere) {
  // U+180E is no White_Space, U+0085 is.
  EXPECT_EQ(split({{R"(\s)"}}, "a\u180Eb\u0085c"),
            (std::vector<std::string>{"a\u180Eb", "\u0085", "c"}));
  EXPECT_EQ(split({{R"([^\sx]+)"}}, "a\u180Eb\u0085c"),
            (std::vector<std::string>{"a\u180Eb", "\u0085", "c"}));
  EXPECT_EQ(split({{R"(\S+)"}}, "a\u180Eb\u0085c"),
            (std::vector<std::string>{"a\u180Eb", "\u0085", "c"}));
  EXPECT_EQ(split({{R"([]\s]+)"}}, "a] b"), (std::vector<std::string>{"a", "] ", "b"}));
  EXPECT_EQ(split({{R"([[:digit:]\s]+)"}}, "a1 b"), (std::vector<std::string>{"a", "1 ", "b"}));
}

TEST(PreTokenizer, EmptyMatchesAndEmptyTexts) {
  EXPECT_EQ(split({{"x*"}}, "axxb"), (std::vector<std::string>{"a", "xx", "b"}));
  EXPECT_EQ(split({{"x*"}}, "日本"), (std::vector<std::string>{"日", "本"}));
  EXPECT_EQ(split({{"a"}}, ""), (std::vector<std::string>{}));
  EXPECT_EQ(split({}, "a b"), (std::vector<std::string>{"a b"}));
}

TEST(PreTokenizer, RefusesWhatItCannotMatch) {
  EXPECT_NE(error_of([] { split({{"("}}, "a"); }).find("'('"), std::string::npos);
  EXPECT_NE(error_of([] { split({{R"(\C)"}}, "a"); }), "");
  EXPECT_NE(error_of([] { split({{repeated("(", 5000) + repeated(")", 5000)}}, "a"); }), "");
  EXPECT_NE(error_of([] { split({{std::string(1 << 20, 'a')}}, "a"); }), "");
  // Exponential backtracking ends at the limit.
  EXPECT_NE(error_of([] { split({{R"((?:a|aa)+\d)"}}, repeated("a", 64) + "c"); }).find("limit"),
            std::string::npos);
}

TEST(PreTokenizer, OtherNamesAreRefused) {
  TokenizerDefinition definition;
  const std::string error = error_of([&] { set_pre_tokenizer(definition, "tekken"); });
  EXPECT_NE(error.find("'tekken'"), std::string::npos);
  EXPECT_NE(error.find("default, gpt-2, llama-bpe, smaug-bpe, qwen2, qwen35, smollm"),
            std::string::npos);
}

}  // namespace
}  // namespace gumbel
