// Byte-pair encoding against a plain reference that follows its definition, on random vocabularies.
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "text/text_testing.h"

namespace gumbel {
namespace {

// Repeatedly merges the leftmost of the best pairs. `rank(left, right)` is negative for no merge.
template <typename Rank>
std::vector<std::string> merge_by_definition(std::vector<std::string> symbols, const Rank& rank) {
  while (true) {
    std::size_t best = symbols.size();
    int best_rank = 0;
    for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
      const int r = rank(symbols[i], symbols[i + 1]);
      if (r >= 0 && (best == symbols.size() || r < best_rank)) {
        best = i;
        best_rank = r;
      }
    }
    if (best == symbols.size()) return symbols;
    symbols[best] += symbols[best + 1];
    symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

std::string random_text(std::mt19937& random, std::size_t length) {
  std::string text;
  for (std::size_t i = 0; i < length; ++i) text += static_cast<char>('a' + random() % 3);
  return text;
}

std::vector<std::string> letters_of(const std::string& text) {
  std::vector<std::string> letters;
  for (const char c : text) letters.emplace_back(1, c);
  return letters;
}

TEST(Merging, ListedMergesFollowTheDefinition) {
  std::mt19937 random(1);
  for (int round = 0; round < 100; ++round) {
    TokenizerDefinition definition;
    definition.tokens = {"a", "b", "c"};
    std::map<std::pair<std::string, std::string>, int> ranks;
    for (int tries = 0; tries < 30; ++tries) {
      const std::string left = definition.tokens[random() % definition.tokens.size()];
      const std::string right = definition.tokens[random() % definition.tokens.size()];
      if (!ranks.emplace(std::pair(left, right), static_cast<int>(definition.merges.size())).second)
        continue;
      definition.merges.emplace_back(left, right);
      const auto& tokens = definition.tokens;
      if (std::find(tokens.begin(), tokens.end(), left + right) == tokens.end()) {
        definition.tokens.push_back(left + right);
      }
    }
    definition.types.assign(definition.tokens.size(), TokenType::kNormal);
    const LoadedTokenizer loaded(definition);
    for (int k = 0; k < 20; ++k) {
      const std::string text = random_text(random, random() % 60);
      Ids expected;
      for (const std::string& symbol :
           merge_by_definition(letters_of(text), [&](auto& left, auto& right) {
             const auto found = ranks.find({left, right});
             return found == ranks.end() ? -1 : found->second;
           })) {
        expected.push_back(loaded->token_id(symbol).value());
      }
      EXPECT_EQ(loaded->encode(text), expected) << text;
    }
  }
}

TEST(Merging, ScoresFollowTheDefinition) {
  std::mt19937 random(2);
  for (int round = 0; round < 100; ++round) {
    // "c" has no token of its own but occurs in longer ones. Scores repeat, so ties occur.
    std::map<std::string, int> negative_scores = {{"a", 0}, {"b", 0}};
    for (int tries = 0; tries < 20; ++tries) {
      negative_scores.emplace(random_text(random, 2 + random() % 3),
                              static_cast<int>(random() % 6));
    }
    GgufTokenizer source = sentencepiece_gguf({});
    source.add_space_prefix = false;
    for (const auto& [piece, score] : negative_scores) {
      source.tokens.push_back(piece);
      source.token_types.push_back(1);
      source.scores.push_back(-static_cast<float>(score));
    }
    const LoadedTokenizer loaded(tokenizer_from_gguf(source));
    for (int k = 0; k < 20; ++k) {
      const std::string text = random_text(random, random() % 60);
      Ids expected;
      for (const std::string& symbol :
           merge_by_definition(letters_of(text), [&](auto& left, auto& right) {
             const auto found = negative_scores.find(left + right);
             return found == negative_scores.end() ? -1 : found->second;
           })) {
        expected.push_back(symbol == "c" ? 3 + 'c' : loaded->token_id(symbol).value());
      }
      EXPECT_EQ(loaded->encode(text), expected) << text;
    }
  }
}

TEST(Merging, WholePiecesCanGoBeforeMerges) {
  TokenizerDefinition definition;
  definition.tokens = {"a", "b", "c", "bc", "abc"};
  definition.types.assign(5, TokenType::kNormal);
  definition.merges = {{"b", "c"}};
  EXPECT_EQ(LoadedTokenizer(definition)->encode("abc"), (Ids{0, 3}));
  definition.ignore_merges = true;
  EXPECT_EQ(LoadedTokenizer(definition)->encode("abc"), (Ids{4}));
  definition.types[4] = TokenType::kControl;
  EXPECT_EQ(LoadedTokenizer(definition)->encode("abc"), (Ids{0, 3}));
}

TEST(Merging, MergesNeverMakeControlTokens) {
  TokenizerDefinition definition;
  definition.tokens = {"a", "b", "ab"};
  definition.types = {TokenType::kNormal, TokenType::kNormal, TokenType::kControl};
  definition.merges = {{"a", "b"}};
  EXPECT_EQ(LoadedTokenizer(definition)->encode("ab"), (Ids{0, 1}));
  EXPECT_EQ(LoadedTokenizer(definition)->encode("ab", ControlTokens::kParse), (Ids{2}));

  GgufTokenizer source = sentencepiece_gguf({"<", "/", "s", ">", "</", "</s"});
  source.add_space_prefix = false;
  EXPECT_EQ(LoadedTokenizer(tokenizer_from_gguf(source))->encode("</s>"), (Ids{264, 262}));
}

TEST(Merging, WhatHasNoTokenBecomesBytesOrUnknownOrNothing) {
  GgufTokenizer source = sentencepiece_gguf({"a"});
  source.add_space_prefix = false;
  TokenizerDefinition definition = tokenizer_from_gguf(source);
  EXPECT_EQ(LoadedTokenizer(definition)->encode("aé"), (Ids{259, 3 + 0xC3, 3 + 0xA9}));
  definition.byte_fallback = false;
  EXPECT_EQ(LoadedTokenizer(definition)->encode("aéx"), (Ids{259, 0, 0}));
  definition.unknown_id = -1;
  EXPECT_EQ(LoadedTokenizer(definition)->encode("aéx"), (Ids{259}));

  TokenizerDefinition listed = tokenizer_from_gguf(source);
  listed.scores.clear();
  listed.byte_fallback = false;
  EXPECT_EQ(LoadedTokenizer(listed)->encode("aéxa"), (Ids{259, 0, 0, 259}));
  listed.fuse_unknown = true;
  EXPECT_EQ(LoadedTokenizer(listed)->encode("aéxa"), (Ids{259, 0, 259}));
}

}  // namespace
}  // namespace gumbel
