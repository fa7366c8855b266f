#include "text/check_answers.h"

#include <gtest/gtest.h>

#include "text/text_testing.h"

namespace gumbel {
namespace {

CheckResult check(const std::string& answers) {
  const LoadedTokenizer qwen(json_definition("qwen"));
  std::istringstream stream(answers);
  return check_answers(qwen.tokenizer, stream);
}

TEST(CheckAnswers, TellsPlainFromParsedTexts) {
  EXPECT_EQ(check("{\"text\": \"<|im_end|>\", \"ids\": [2002], \"decoded\": \"<|im_end|>\"}\n")
                .mismatched,
            0);
  EXPECT_EQ(check("{\"text\": \"<|im_end|>\", \"ids\": [2002]}\n").mismatched, 1);
}

TEST(CheckAnswers, DescribesTheFirstMismatch) {
  const CheckResult result = check(
      "{\"text\": \"a\", \"ids\": [64]}\n"
      "\n"
      "{\"text\": \"\\u00e9a\\n\", \"ids\": [127, 102, 65, 198]}\n"
      "{\"text\": \"a\", \"ids\": []}\n");
  EXPECT_EQ(result.checked, 3);
  EXPECT_EQ(result.mismatched, 2);
  EXPECT_EQ(result.first_mismatch,
            "line 3: 'éa\\x0a': expected 4 ids, got 4; from id 2 on: expected [65, 198], got "
            "[64, 198]");
  EXPECT_EQ(check("{\"text\": \"a\", \"ids\": [64], \"decoded\": \"b\"}").first_mismatch,
            "line 1: 'a': expected the decoding 'b', got 'a'");
}

TEST(CheckAnswers, RefusesOtherFiles) {
  for (const char* text :
       {"x", "[]", "{}", "{\"text\": 1, \"ids\": []}", "{\"text\": \"a\", \"ids\": [\"b\"]}",
        "{\"text\": \"a\", \"ids\": 5}", "{\"text\": \"a\", \"ids\": [64], \"decoded\": 5}"}) {
    EXPECT_NE(error_of([&] { check(text); }), "") << text;
  }
}

}  // namespace
}  // namespace gumbel
