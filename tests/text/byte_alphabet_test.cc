#include "text/byte_alphabet.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "text/byte_spelling.h"

namespace gumbel {
namespace {

TEST(ByteAlphabet, SpellsEveryByteInItsOwnWay) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  EXPECT_EQ(bytes_of_spelling(test::spelling_of_bytes(all)), all);
  EXPECT_EQ(bytes_of_spelling("ĠĊ!~ġł¡Ńÿ"), " \n!~\x7F\xA0\xA1\xAD\xFF");
  EXPECT_EQ(bytes_of_spelling("a b"), std::nullopt);
  EXPECT_EQ(bytes_of_spelling("日"), std::nullopt);
  EXPECT_EQ(bytes_of_spelling("\xFF"), std::nullopt);
}

TEST(ByteAlphabet, ReadsSentencePieceBytes) {
  EXPECT_EQ(byte_of_spelling("<0x00>"), 0x00);
  EXPECT_EQ(byte_of_spelling("<0xfF>"), 0xFF);
  for (const char* other :
       {"", "<0x4>", "<0x4 >", "<0x+4>", "<0x4G>", "<0x041>", "0x41", "<0X41>"}) {
    EXPECT_EQ(byte_of_spelling(other), std::nullopt) << other;
  }
}

}  // namespace
}  // namespace gumbel
