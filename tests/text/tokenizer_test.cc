// Tokenizers from tokenizer.json, against the answers of Hugging Face tokenizers.
#include "text/tokenizer.h"

#include <gtest/gtest.h>

#include "text/check_answers.h"
#include "text/text_testing.h"

namespace gumbel {
namespace {

class StoredAnswers : public testing::TestWithParam<const char*> {};

TEST_P(StoredAnswers, AreEqual) {
  const LoadedTokenizer loaded(json_definition(GetParam()));
  std::ifstream answers =
      open_test_data(std::string("tokenizers/") + GetParam() + "/answers.jsonl");
  const CheckResult result = check_answers(loaded.tokenizer, answers);
  EXPECT_EQ(result.checked, 215);
  EXPECT_EQ(result.mismatched, 0) << result.first_mismatch;
}

INSTANTIATE_TEST_SUITE_P(TokenizerJson, StoredAnswers, testing::Values("qwen", "llama3", "gemma"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace gumbel
