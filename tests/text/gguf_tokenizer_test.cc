// Tokenizers as GGUF metadata describes them.
#include "text/gguf_tokenizer.h"

#include <gtest/gtest.h>

#include "text/check_answers.h"
#include "text/text_testing.h"

namespace gumbel {
namespace {

// The stored tokenizer.json, told the way a GGUF file tells it.
GgufTokenizer gguf_of(const std::string& name, const std::string& pre) {
  const TokenizerDefinition definition = json_definition(name);
  GgufTokenizer source;
  source.model = "gpt2";
  source.pre = pre;
  source.tokens = definition.tokens;
  for (const TokenType type : definition.types)
    source.token_types.push_back(static_cast<int>(type));
  for (const auto& [left, right] : definition.merges) source.merges.push_back(left + " " + right);
  return source;
}

TEST(GgufTokenizer, ByteLevelGivesTheAnswersOfTokenizerJson) {
  const std::pair<const char*, const char*> cases[] = {{"qwen", "qwen2"},
                                                       {"qwen", "deepseek-r1-qwen"},
                                                       {"llama3", "llama-bpe"},
                                                       {"llama3", "llama3"},
                                                       {"llama3", "llama-v3"}};
  for (const auto& [name, pre] : cases) {
    const LoadedTokenizer loaded(tokenizer_from_gguf(gguf_of(name, pre)));
    std::ifstream answers = open_test_data(std::string("tokenizers/") + name + "/answers.jsonl");
    const CheckResult result = check_answers(loaded.tokenizer, answers);
    EXPECT_EQ(result.checked, 215);
    EXPECT_EQ(result.mismatched, 0) << result.first_mismatch;
  }
}

TEST(GgufTokenizer, Gemma4GivesTheAnswersOfTokenizerJson) {
  GgufTokenizer source = gguf_of("gemma", "");
  source.model = "gemma4";
  source.unknown_id = 3;
  source.bos_id = 2;
  EXPECT_TRUE(tokenizer_from_gguf(source).add_bos);
  source.add_bos = false;
  const LoadedTokenizer loaded(tokenizer_from_gguf(source));
  std::ifstream answers = open_test_data("tokenizers/gemma/answers.jsonl");
  const CheckResult result = check_answers(loaded.tokenizer, answers);
  EXPECT_EQ(result.checked, 215);
  EXPECT_EQ(result.mismatched, 0) << result.first_mismatch;
}

TEST(GgufTokenizer, SpacePrefixIsAddedAndTakenOff) {
  GgufTokenizer source = sentencepiece_gguf({"▁", "a", "▁a"});
  const LoadedTokenizer with(tokenizer_from_gguf(source));
  EXPECT_EQ(with->encode("a"), (Ids{261}));
  EXPECT_EQ(with->encode(" a"), (Ids{259, 261}));
  EXPECT_EQ(with->encode(""), (Ids{}));
  EXPECT_EQ(with->encode("a<s>a", ControlTokens::kParse), (Ids{261, 1, 261}));
  EXPECT_EQ(with->decode(with->encode("a a")), "a a");
  EXPECT_EQ(with->decode(with->encode("  a")), "  a");
  source.add_space_prefix = false;
  const LoadedTokenizer without(tokenizer_from_gguf(source));
  EXPECT_EQ(without->encode("a"), (Ids{260}));
  EXPECT_EQ(without->decode(without->encode(" a")), " a");
}

TEST(GgufTokenizer, DefaultsOfAbsentKeys) {
  const TokenizerDefinition llama = tokenizer_from_gguf(sentencepiece_gguf({"a"}));
  EXPECT_EQ(llama.unknown_id, 0);
  EXPECT_EQ(llama.bos_id, 1);
  EXPECT_EQ(llama.eos_id, 2);
  EXPECT_TRUE(llama.add_bos);
  EXPECT_FALSE(llama.add_eos);
  EXPECT_EQ(llama.space_prefix, SpacePrefix::kAlways);
  GgufTokenizer source = gguf_of("llama3", "llama-bpe");
  EXPECT_FALSE(tokenizer_from_gguf(source).add_bos);  // there is no BOS to add
  source.bos_id = 2000;
  EXPECT_TRUE(tokenizer_from_gguf(source).add_bos);
  source.pre = "qwen2";
  EXPECT_FALSE(tokenizer_from_gguf(source).add_bos);
}

// The added token is one that no merges make.
TEST(GgufTokenizer, SmaugMergesEvenWhereAPieceIsAToken) {
  GgufTokenizer source = gguf_of("llama3", "llama-bpe");
  source.tokens.emplace_back("zqxjzqxj");
  source.token_types.push_back(1);
  const auto ids = [&](const char* pre) {
    source.pre = pre;
    return LoadedTokenizer(tokenizer_from_gguf(source))->encode("zqxjzqxj");
  };
  EXPECT_EQ(ids("llama3").size(), 1u);
  EXPECT_GT(ids("smaug-bpe").size(), 1u);
}

TEST(GgufTokenizer, EndIdsComeFromIdsAndNames) {
  GgufTokenizer source = gguf_of("qwen", "qwen2");  // <|endoftext|> 2000, <|im_end|> 2002
  source.eos_id = 5;
  source.eot_id = 7;
  source.eom_id = 5;
  EXPECT_EQ(tokenizer_from_gguf(source).end_ids, (Ids{5, 7, 2000, 2002}));
}

TEST(GgufTokenizer, IdsThatAreNoTokensAreTakenAsAbsent) {
  GgufTokenizer source = gguf_of("qwen", "qwen2");  // of 2003 tokens
  source.bos_id = 2003;
  source.eos_id = -1;
  source.eot_id = INT64_MAX;
  source.eom_id = INT64_MIN;
  source.unknown_id = 2002;
  source.add_bos = source.add_eos = true;
  std::vector<std::string> notes;
  const TokenizerDefinition definition = tokenizer_from_gguf(source, &notes);
  EXPECT_EQ(definition.bos_id, -1);
  EXPECT_EQ(definition.eos_id, -1);
  EXPECT_EQ(definition.unknown_id, 2002);
  EXPECT_FALSE(definition.add_bos);
  EXPECT_FALSE(definition.add_eos);
  EXPECT_EQ(definition.end_ids, (Ids{2000, 2002}));  // by their names
  ASSERT_EQ(notes.size(), 4u);
  EXPECT_EQ(notes[0], "tokenizer.ggml.bos_token_id: expected 0 to 2002, got 2003: taken as absent");
  EXPECT_EQ(error_of([&] { serialize_tokenizer(definition); }), "");

  GgufTokenizer llama = sentencepiece_gguf({"a"});
  llama.unknown_id = llama.bos_id = llama.eos_id = 1'000'000;
  const TokenizerDefinition with_defaults = tokenizer_from_gguf(llama);
  EXPECT_EQ(with_defaults.unknown_id, 0);
  EXPECT_EQ(with_defaults.bos_id, 1);
  EXPECT_EQ(with_defaults.eos_id, 2);
}

TEST(GgufTokenizer, RefusesByName) {
  const auto error = [](auto change) {
    GgufTokenizer source = gguf_of("qwen", "qwen2");
    change(source);
    return error_of([&] { serialize_tokenizer(tokenizer_from_gguf(source)); });
  };
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_NE(error([](auto& s) { s.pre = "tekken"; }).find("'tekken'"), std::string::npos);
  EXPECT_NE(error([](auto& s) { s.model = "t5"; }).find("'t5'"), std::string::npos);
  EXPECT_NE(error([](auto& s) { s.merges[7] = "zzz qqq"; }).find("'zzz'"), std::string::npos);
  for (const char* merge : {"", " ", "ab", "a ", "a"}) {
    EXPECT_NE(error([&](auto& s) { s.merges[7] = merge; }), "") << merge;
  }
  EXPECT_NE(error([](auto& s) { s.merges.clear(); }), "");
  EXPECT_NE(error([](auto& s) { s.tokens.clear(); }), "");
  EXPECT_NE(error([](auto& s) { s.token_types.pop_back(); }), "");
  EXPECT_NE(error([](auto& s) { s.token_types[3] = 7; }), "");
  EXPECT_NE(error([](auto& s) { s.token_types[3] = -1; }), "");

  GgufTokenizer llama = sentencepiece_gguf({"a"});
  llama.scores.pop_back();
  EXPECT_NE(error_of([&] { tokenizer_from_gguf(llama); }), "");
  llama.scores.push_back(std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(error_of([&] { serialize_tokenizer(tokenizer_from_gguf(llama)); }), "");
  llama = sentencepiece_gguf({"a"});
  llama.tokens[3] = "<0xZZ>";
  EXPECT_NE(error_of([&] { serialize_tokenizer(tokenizer_from_gguf(llama)); }), "");
}

}  // namespace
}  // namespace gumbel
