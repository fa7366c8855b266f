#include "cli/suggest.h"

#include <gtest/gtest.h>

namespace gumbel::cli {
namespace {

TEST(Nearest, CountsEdits) {
  const std::vector<std::string> names = {"export", "run", "--prompt", "--prompt-file", "--top-k"};
  for (const auto& [word, expected] :
       std::vector<std::pair<std::string, std::string>>{{"exprot", "export"},   // swapped
                                                        {"expor", "export"},    // one less
                                                        {"exporrt", "export"},  // one more
                                                        {"ecport", "export"},   // another
                                                        {"--promt", "--prompt"},
                                                        {"--promptfile", "--prompt-file"},
                                                        {"--topk", "--top-k"},
                                                        {"run", "run"},
                                                        {"rum", "run"},
                                                        {"rm", ""},  // half of it would be wrong
                                                        {"frobnicate", ""},
                                                        {"", ""},
                                                        {std::string(1'000'000, 'r'), ""}}) {
    EXPECT_EQ(nearest(word, names), expected) << word;
  }
  EXPECT_EQ(nearest("-x", {"-p", "-n"}), "");
  EXPECT_EQ(nearest("run", {}), "");
}

}  // namespace
}  // namespace gumbel::cli
