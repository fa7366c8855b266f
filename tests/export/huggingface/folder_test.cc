#include "export/huggingface/folder.h"

#include <gtest/gtest.h>

#include "export/test_files.h"

namespace gumbel {
namespace {

using nlohmann::json;
using test::expect_error;
using test::TemporaryFolder;

TEST(HfFolder, EndOfTurnIdsFromEveryPlace) {
  const TemporaryFolder folder;
  const auto ids = [&](const char* config) {
    return read_generation_ids(json::parse(config), folder.path());
  };
  EXPECT_TRUE(ids("{}").eos_ids.empty());
  EXPECT_EQ(ids("{}").bos_id, -1);
  EXPECT_EQ(ids(R"({"bos_token_id":2,"eos_token_id":1})").eos_ids, std::vector<int64_t>{1});
  EXPECT_EQ(ids(R"({"bos_token_id":2,"eos_token_id":1})").bos_id, 2);
  EXPECT_EQ(ids(R"({"text_config":{"eos_token_id":7},"eos_token_id":[1,106]})").eos_ids,
            (std::vector<int64_t>{1, 7, 106}));
  folder.write("generation_config.json", R"({"bos_token_id":3,"eos_token_id":[1,106,50]})");
  EXPECT_EQ(ids(R"({"bos_token_id":2,"eos_token_id":1})").eos_ids,
            (std::vector<int64_t>{1, 50, 106}));
  EXPECT_EQ(ids("{}").bos_id, 3);
  folder.write("generation_config.json", R"({"eos_token_id":null})");
  EXPECT_EQ(ids(R"({"eos_token_id":4})").eos_ids, std::vector<int64_t>{4});
  folder.write("generation_config.json", R"({"bos_token_id":-3,"eos_token_id":[-1]})");
  EXPECT_EQ(ids(R"({"eos_token_id":4})").eos_ids, (std::vector<int64_t>{-1, 4}));
  EXPECT_EQ(ids("{}").bos_id, -3);
  for (const char* wrong :
       {R"({"eos_token_id":"</s>"})", R"({"eos_token_id":[1,"a"]})", R"({"eos_token_id":1.5})"}) {
    folder.write("generation_config.json", wrong);
    expect_error(ErrorCode::kCorruptFile, "generation_config.json: eos_token_id: expected",
                 [&] { ids("{}"); });
  }
}

TEST(HfFolder, ChatTemplateFromEveryPlace) {
  const TemporaryFolder folder;
  const auto text = [&] { return read_chat_template(folder.path()); };
  EXPECT_EQ(text(), "");
  folder.write("tokenizer_config.json", R"({"bos_token":"<s>"})");
  EXPECT_EQ(text(), "");
  folder.write("tokenizer_config.json", R"({"chat_template":[{"name":"tool_use","template":"T"},)"
                                        R"({"name":"default","template":"D"}]})");
  EXPECT_EQ(text(), "D");
  folder.write("tokenizer_config.json", R"({"chat_template":"{{ x }}"})");
  EXPECT_EQ(text(), "{{ x }}");
  folder.write("chat_template.json", R"({"chat_template":"J"})");
  EXPECT_EQ(text(), "J");
  folder.write("chat_template.jinja", "{% if a %}\n");
  EXPECT_EQ(text(), "{% if a %}\n");
}

TEST(HfFolder, WrongChatTemplatesAreRefused) {
  const TemporaryFolder folder;
  for (const char* wrong : {R"({"chat_template":5})", R"({"chat_template":[5]})", "[]", "{"}) {
    folder.write("tokenizer_config.json", wrong);
    expect_error(ErrorCode::kCorruptFile, "tokenizer_config.json",
                 [&] { read_chat_template(folder.path()); });
  }
}

}  // namespace
}  // namespace gumbel
