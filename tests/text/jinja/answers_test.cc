// Templates against Jinja2 as transformers configures it (tests/data/text/jinja).
#include <gtest/gtest.h>
#include <gumbel/error.h>

#include <nlohmann/json.hpp>
#include <string>

#include "text/jinja/jinja.h"
#include "text/text_testing.h"

namespace gumbel::jinja {
namespace {

std::string render(const std::string& source, const nlohmann::ordered_json& variables) {
  std::vector<std::pair<std::string, Value>> values;
  for (const auto& [name, value] : variables.items())
    values.emplace_back(name, Value::from_json(value));
  std::string text;
  for (const Stretch& stretch : Template(source).render(values)) text += stretch.text;
  return text;
}

// What Jinja2 answers, refuses, or has the template refuse.
void expect_answer(const nlohmann::ordered_json& answer, const std::string& source) {
  const bool is_optional = answer.value("optional", false);
  try {
    const std::string text = render(source, answer["variables"]);
    if (answer.contains("answer")) {
      EXPECT_EQ(text, answer["answer"].get<std::string>());
    } else if (!is_optional) {
      ADD_FAILURE() << "expected an error, rendered " << text;
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(std::string(error.what()).find("chat template, line "), std::string::npos)
        << error.what();
    if (answer.contains("answer") && !is_optional) ADD_FAILURE() << error.what();
    if (answer.contains("raises")) {
      const auto message = answer["raises"].get<std::string>();
      EXPECT_TRUE(std::string(error.what()).ends_with(": " + message)) << error.what();
    }
  }
}

TEST(JinjaAnswers, OfSmallTemplates) {
  std::ifstream file = open_test_data("text/jinja/answers.jsonl");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto answer = nlohmann::ordered_json::parse(line);
    const auto source = answer["template"].get<std::string>();
    SCOPED_TRACE(answer["name"].get<std::string>() + "\n" + source);
    expect_answer(answer, source);
  }
  EXPECT_GT(count, 1000U);
}

TEST(JinjaAnswers, OfWholeTemplatesOverConversations) {
  std::ifstream file = open_test_data("text/jinja/conversations.jsonl");
  std::size_t count = 0;
  for (std::string line; std::getline(file, line); ++count) {
    const auto answer = nlohmann::ordered_json::parse(line);
    SCOPED_TRACE(answer["name"].get<std::string>());
    const auto name = answer["template"].get<std::string>();
    expect_answer(answer, read_test_data("text/templates/" + name + ".jinja"));
  }
  EXPECT_GT(count, 100U);
}

}  // namespace
}  // namespace gumbel::jinja
