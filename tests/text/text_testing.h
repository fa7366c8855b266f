// What the tests of src/text share.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "text/tokenizer_json.h"
#include "text/tokenizer_record.h"

namespace gumbel {

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

/// The definition of tests/data/tokenizers/<name>/tokenizer.json.
inline TokenizerDefinition json_definition(const std::string& name) {
  return tokenizer_from_json(read_test_data("tokenizers/" + name + "/tokenizer.json"));
}

/// A tokenizer together with the record it reads.
struct LoadedTokenizer {
  explicit LoadedTokenizer(const TokenizerDefinition& definition)
      : record(serialize_tokenizer(definition)), tokenizer(record) {}

  std::vector<std::byte> record;
  Tokenizer tokenizer;
};

}  // namespace gumbel
