// Normal form C against Python's unicodedata (tests/data/text/nfc.jsonl).
#include "text/normalize.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "text/text_testing.h"

namespace gumbel {
namespace {

TEST(NormalizeNfc, StoredAnswersAreEqual) {
  std::ifstream file = open_test_data("text/nfc.jsonl");
  std::string line;
  int count = 0;
  for (; std::getline(file, line); ++count) {
    const nlohmann::json answer = nlohmann::json::parse(line);
    EXPECT_EQ(normalize_nfc(answer[0].get<std::string>()), answer[1].get<std::string>()) << line;
  }
  EXPECT_EQ(count, 310);
}

// Sorting these marks pair by pair would take hours.
TEST(NormalizeNfc, LongRunsOfMarksAreOrdered) {
  constexpr int kCount = 131072;
  const std::string above = repeated("\u0301", kCount), below = repeated("\u0323", kCount);
  // Classes 230 and 220.
  EXPECT_TRUE(normalize_nfc(above + below) == below + above);
}

}  // namespace
}  // namespace gumbel
