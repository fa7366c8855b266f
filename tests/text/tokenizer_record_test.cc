// Records: equal bytes for equal tokenizers, and no way out of them for damaged ones.
#include "text/tokenizer_record.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "text/record_layout.h"
#include "text/text_testing.h"

namespace gumbel {
namespace {

// Does with the record's tokenizer whatever can be done. Only gumbel::Error may come out.
void exercise(const std::vector<std::byte>& record) {
  try {
    const Tokenizer tokenizer(record);
    for (const char* text :
         {"", "Hello, world! <|im_end|><end_of_turn>", "  日本 12345\n\n e\u0301 ▁x"}) {
      for (const auto control : {ControlTokens::kPlain, ControlTokens::kParse}) {
        const Ids ids = tokenizer.encode_prompt(text, control);
        for (const std::int64_t id : ids)
          ASSERT_LT(static_cast<std::uint64_t>(id), tokenizer.vocab_size());
        tokenizer.decode(ids);
      }
    }
    const std::int64_t step = tokenizer.vocab_size() / 50 + 1;
    for (std::int64_t id = 0; id < tokenizer.vocab_size(); id += step) tokenizer.decode(Ids{id});
    tokenizer.token_id("<|im_end|>");
    tokenizer.token_id("the");
  } catch (const Error&) {
  }
}

class Record : public testing::TestWithParam<const char*> {};

TEST_P(Record, IsDeterministicAndWorksAtAnyAddress) {
  const auto record = serialize_tokenizer(json_definition(GetParam()));
  EXPECT_EQ(record, serialize_tokenizer(json_definition(GetParam())));
  std::vector<std::byte> shifted(record.size() + 1);
  std::memcpy(shifted.data() + 1, record.data(), record.size());
  const Tokenizer tokenizer{std::span<const std::byte>(shifted).subspan(1)};
  EXPECT_EQ(tokenizer.decode(tokenizer.encode("Hello, world!")), "Hello, world!");
}

TEST_P(Record, TruncatedAnywhereIsRefused) {
  const auto record = serialize_tokenizer(json_definition(GetParam()));
  for (std::size_t size = 0; size < record.size(); size += size < 512 ? 1 : 97) {
    const std::vector<std::byte> cut(record.begin(),
                                     record.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_NE(error_of([&] { Tokenizer tokenizer(cut); }), "") << size;
  }
}

TEST_P(Record, DamagedAnywhereStaysWithinItsBytes) {
  const auto record = serialize_tokenizer(json_definition(GetParam()));
  std::mt19937 random(3);
  for (int round = 0; round < 1500; ++round) {
    auto damaged = record;
    const int changes = 1 + static_cast<int>(random() % 8);
    for (int i = 0; i < changes; ++i) {
      // Half of the damage goes to the header, where it matters most.
      const std::size_t range = random() % 2 ? sizeof(RecordHeader) : damaged.size();
      damaged[random() % range] = static_cast<std::byte>(random());
    }
    exercise(damaged);
  }
}

// Tables full of chosen numbers: ids at the edges of the vocabulary and of the type.
TEST_P(Record, TablesOfHostileNumbersStayWithinTheirBytes) {
  const auto record = serialize_tokenizer(json_definition(GetParam()));
  RecordHeader header;
  std::memcpy(&header, record.data(), sizeof(header));
  std::mt19937 random(4);
  for (const std::uint32_t section :
       {kPieceIds, kPairs, kByteTokens, kSpecials, kEndIds, kTokenRanks}) {
    for (int round = 0; round < 20; ++round) {
      auto damaged = record;
      const auto [offset, size] = header.sections[section];
      for (std::size_t at = 0; at + 4 <= size; at += 4) {
        const std::uint32_t numbers[] = {0,
                                         1,
                                         header.vocab_size - 1,
                                         header.vocab_size,
                                         0x7FFFFFFF,
                                         0xFFFFFFFF,
                                         static_cast<std::uint32_t>(random()) % header.vocab_size};
        if (random() % 2)
          std::memcpy(damaged.data() + offset + at, &numbers[random() % std::size(numbers)], 4);
      }
      exercise(damaged);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Stored, Record, testing::Values("qwen", "gemma"),
                         [](const auto& test) { return std::string(test.param); });

TEST(Serialize, RefusesDefinitionsThatContradictThemselves) {
  const auto error = [](auto change) {
    TokenizerDefinition definition = json_definition("qwen");
    change(definition);
    return error_of([&] { serialize_tokenizer(definition); });
  };
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_NE(error([](auto& d) { d = {}; }), "");
  EXPECT_NE(error([](auto& d) { d.types.pop_back(); }), "");
  EXPECT_NE(error([](auto& d) { d.scores = {1, 2}; }), "");
  EXPECT_NE(error([](auto& d) { d.bos_id = 2003; }), "");
  EXPECT_NE(error([](auto& d) { d.unknown_id = -2; }), "");
  EXPECT_NE(error([](auto& d) { d.end_ids = {5000}; }), "");
  EXPECT_NE(error([](auto& d) { d.matching.push_back({2003, true, false, false}); }), "");
  EXPECT_NE(error([](auto& d) { d.add_bos = true; }), "");
  EXPECT_NE(error([](auto& d) { d.merges[3] = {"a", "no such"}; }), "");
  EXPECT_NE(error([](auto& d) { d.merges[3] = {"", "a"}; }), "");
  EXPECT_NE(error([](auto& d) {
              d.tokens[1500] = std::string(1 << 16, 'x');
              d.merges.clear();
            }),
            "");
  EXPECT_NE(error([](auto& d) { d.tokens[2001] = std::string(1 << 16, 'x'); }), "");
}

}  // namespace
}  // namespace gumbel
