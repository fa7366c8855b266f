// What the tests of src/text share.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

#include "base/error.h"
#include "text/gguf_tokenizer.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"
#include "text/tokenizer_record.h"

namespace gumbel {

using Ids = std::vector<std::int64_t>;

inline std::ifstream open_test_data(const std::string& name) {
  std::ifstream file(std::string(GUMBEL_TEST_DATA) + "/" + name, std::ios::binary);
  EXPECT_TRUE(file.good()) << name;
  return file;
}

inline std::string read_test_data(const std::string& name) {
  std::ostringstream text;
  text << open_test_data(name).rdbuf();
  return text.str();
}

/// The text of tests/data/tokenizers/<name>/tokenizer.json.
inline std::string json_text(const std::string& name) {
  return read_test_data("tokenizers/" + name + "/tokenizer.json");
}

inline TokenizerDefinition json_definition(const std::string& name) {
  return tokenizer_from_json(json_text(name));
}

/// A tokenizer together with the record it reads.
struct LoadedTokenizer {
  explicit LoadedTokenizer(const TokenizerDefinition& definition)
      : record(serialize_tokenizer(definition)), tokenizer(record) {}
  const Tokenizer* operator->() const { return &tokenizer; }

  std::vector<std::byte> record;
  Tokenizer tokenizer;
};

/// A SentencePiece tokenizer as GGUF describes it: <unk>, <s>, </s>, the 256 byte tokens (ids 3 to
/// 258), then `pieces`, each with a lower score than the one before.
inline GgufTokenizer sentencepiece_gguf(const std::vector<std::string>& pieces) {
  GgufTokenizer source;
  source.model = "llama";
  source.tokens = {"<unk>", "<s>", "</s>"};
  source.token_types = {2, 3, 3};
  source.scores = {0, 0, 0};
  for (int byte = 0; byte < 256; ++byte) {
    source.tokens.push_back(fmt::format("<0x{:02X}>", byte));
    source.token_types.push_back(6);
    source.scores.push_back(0);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    source.tokens.push_back(pieces[i]);
    source.token_types.push_back(1);
    source.scores.push_back(-static_cast<float>(i));
  }
  return source;
}

/// What `action` throws, which must be a gumbel::Error of one line; "" if it throws nothing.
inline std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_FALSE(message.empty());
    return message;
  }
  return "";
}

inline std::string repeated(const std::string& text, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

}  // namespace gumbel
