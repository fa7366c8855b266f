#include "export/huggingface/strict_json.h"

#include <gtest/gtest.h>

#include "base/json_fields.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using test::expect_error;

TEST(StrictJson, ParsesAndRefuses) {
  EXPECT_EQ(parse_strict_json(R"({"a":[1,{"a":2}],"b":{"a":3}})", "f")["b"]["a"], 3);
  const auto refuses = [](std::string_view part, std::string_view text) {
    expect_error(ErrorCode::kCorruptFile, part, [&] { parse_strict_json(text, "f.json"); });
  };
  refuses("f.json: not valid JSON", "");
  refuses("f.json: not valid JSON", "{\"a\":\n}");
  refuses("f.json: not valid JSON", "{} {}");
  refuses("f.json: not valid JSON", "{\"a\": NaN}");
  refuses("f.json: not valid JSON", "{\"a\": 1e999}");
  refuses("f.json: not valid JSON", "{\"\xFF\": 1}");
  refuses("f.json: not valid JSON", R"({"\ud800": 1})");
  refuses("f.json: key 'a' stands twice", R"({"a":1,"a":1})");
  refuses("f.json: key 'b' stands twice", R"({"a":[{"b":1,"c":2,"b":3}]})");
  // Escapes are resolved before keys are compared.
  refuses("f.json: key 'a' stands twice", R"({"a":1,"\u0061":1})");
  refuses("nested deeper than 64", std::string(65, '[') + std::string(65, ']'));
  EXPECT_EQ(parse_strict_json(std::string(64, '[') + "1" + std::string(64, ']'), "f").size(), 1u);
}

TEST(StrictJson, FilesAreBounded) {
  const test::TemporaryFolder folder;
  const auto path = folder.write("a.json", "[1, 2, 3]");
  EXPECT_EQ(read_strict_json(path, 9).size(), 3u);
  EXPECT_EQ(read_text_file(path), "[1, 2, 3]");
  expect_error(ErrorCode::kCorruptFile, "at most 8 bytes, got 9",
               [&] { read_strict_json(path, 8); });
  expect_error(ErrorCode::kCorruptFile, "at most 8 bytes, got 9", [&] { read_text_file(path, 8); });
  expect_error(ErrorCode::kIo, "absent.json",
               [&] { read_strict_json(folder.path() / "absent.json"); });
}

TEST(JsonFields, GivesWhatIsThereAndNamesWhatIsWrong) {
  const nlohmann::json json = nlohmann::json::parse(
      R"({"i":-3,"u":18446744073709551615,"x":1.5,"b":true,"s":"t","n":null,"o":{"i":1},)"
      R"("l":[1,2],"ls":["a"],"mixed":[1,"a"]})");
  const JsonFields fields(json, "f.json");
  EXPECT_EQ(fields.integer("i"), -3);
  EXPECT_EQ(fields.number("i"), -3.0);
  EXPECT_EQ(fields.number("x"), 1.5);
  EXPECT_EQ(fields.boolean("b"), true);
  EXPECT_EQ(fields.string("s"), "t");
  EXPECT_FALSE(fields.has("n"));
  EXPECT_EQ(fields.integer("n"), std::nullopt);
  EXPECT_EQ(fields.object("o")->integer("i"), 1);
  EXPECT_EQ(fields.integer_or_list("i"), std::vector<int64_t>{-3});
  EXPECT_EQ(fields.integer_or_list("l"), (std::vector<int64_t>{1, 2}));
  EXPECT_EQ(fields.strings("ls"), std::vector<std::string>{"a"});
  const auto refuses = [](std::string_view part, const std::function<void()>& action) {
    expect_error(ErrorCode::kCorruptFile, part, action);
  };
  refuses("f.json: u: expected an integer below 2^63, got number", [&] { fields.integer("u"); });
  refuses("f.json: x: expected an integer", [&] { fields.integer("x"); });
  refuses("f.json: s: expected a number, got string", [&] { fields.number("s"); });
  refuses("f.json: i: expected true or false", [&] { fields.boolean("i"); });
  refuses("f.json: i: expected a string", [&] { fields.string("i"); });
  refuses("f.json: i: expected a JSON object", [&] { fields.object("i"); });
  refuses("f.json: l: expected an array of strings", [&] { fields.strings("l"); });
  refuses("f.json: mixed: expected an array of integers", [&] { fields.integer_or_list("mixed"); });
  refuses("f.json: s: expected an integer or an array", [&] { fields.integer_or_list("s"); });
  refuses("f.json: expected a JSON object, got array",
          [] { JsonFields(nlohmann::json::array(), "f.json"); });
  expect_error(ErrorCode::kNotFound, "f.json: absent is missing",
               [&] { fields.required_integer("absent"); });
  expect_error(ErrorCode::kNotFound, "f.json: n is missing", [&] { fields.required_number("n"); });
}

}  // namespace
}  // namespace gumbel
