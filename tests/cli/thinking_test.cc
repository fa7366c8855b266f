// gumbel run: the answer on standard output, the thought on standard error.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <regex>

#include "cli/chat.h"
#include "cli/program.h"

namespace gumbel::test {
namespace {

struct ThinkingTest : CliTest {
  static constexpr const char* kDraw =
      " --prompt hello --seed 9 --temperature 2 --max-new-tokens 60 ";

  // chat.gumbel with the template of Qwen 3.5.
  static std::string qwen35_program() {
    if (!std::filesystem::exists(folder() / "qwen35.gumbel")) {
      const auto source = write_tiny_folder(folder() / "qwen35", "qwen3", /*chat=*/true);
      std::ofstream(source / "chat_template.jinja")
          << read_file(data_path("text/templates/qwen3.5.jinja"));
      EXPECT_EQ(gumbel("export qwen35/qwen3-chat -o qwen35.gumbel --sample").status, 0);
    }
    return "qwen35.gumbel";
  }

  // The reply drawn by kDraw, undivided, and a place in it that ends the thought.
  static std::string whole() {
    const Result result = gumbel(std::string("run chat.gumbel") + kDraw);
    EXPECT_EQ(result.err, "");
    return result.out.substr(0, result.out.size() - 1);
  }
  static std::string end_in(const std::string& text) {
    std::smatch match;
    EXPECT_TRUE(
        std::regex_search(text.begin() + 20, text.end(), match, std::regex("[A-Za-z0-9,;:.]{2}")));
    return match.str();
  }
};

std::string trimmed(std::string text, bool right = true) {
  const char* blank = " \t\r\n";
  text.erase(0, std::min(text.find_first_not_of(blank), text.size()));
  if (right) text.erase(text.find_last_not_of(blank) + 1);
  return text;
}

TEST_F(ThinkingTest, TheThoughtIsApart) {
  const std::string reply = whole();
  const std::string end = end_in(reply);
  const size_t at = reply.find(end);
  const std::string thought = trimmed(reply.substr(0, at));
  const std::string answer = trimmed(reply.substr(at + end.size()), false);
  ASSERT_FALSE(thought.empty() || answer.empty());
  const std::string run = "run " + thinking_program("apart", end) + kDraw;
  const Result divided = gumbel(run);
  EXPECT_EQ(divided.status, 0);
  EXPECT_EQ(divided.out, answer + "\n");
  EXPECT_EQ(divided.err, thought + "\n");
  EXPECT_EQ(gumbel(run + "--thinking on").out, answer + "\n");
  EXPECT_EQ(shell(folder(), "gumbel " + run + " 2>/dev/null | cat").out, answer + "\n");
  EXPECT_EQ(shell(folder(), "gumbel " + run + " 2>&-").out, answer + "\n");

  // Stop strings end the answer, and nothing in the thought.
  const auto only_in = [](const std::string& text, const std::string& other) {
    for (const char c : text)
      if (std::isalnum(static_cast<unsigned char>(c)) && other.find(c) == std::string::npos)
        return std::string(1, c);
    ADD_FAILURE() << "expected a letter of " << text << " that is not in " << other;
    return std::string("?");
  };
  const Result unstopped = gumbel(run + "--stop " + only_in(thought, answer));
  EXPECT_EQ(unstopped.out, divided.out);
  EXPECT_EQ(unstopped.err, divided.err);
  const std::string stop = only_in(answer, thought);
  const Result stopped = gumbel(run + "--stop " + stop);
  EXPECT_EQ(stopped.out, answer.substr(0, answer.find(stop)) + "\n");
  EXPECT_EQ(stopped.err, divided.err);
}

TEST_F(ThinkingTest, AThoughtThatDoesNotEnd) {
  const std::string reply = whole();
  const Result result = gumbel("run " + thinking_program("endless", "never there") + kDraw);
  EXPECT_EQ(result.out, "\n");
  EXPECT_EQ(result.err, trimmed(reply) + "\n");
}

TEST_F(ThinkingTest, AnEmptyThoughtShowsNothing) {
  // The thought ends where the reply's text begins.
  const std::string reply = whole();
  const std::string end = reply.substr(0, 1 + reply.find_first_of(trimmed(reply)[0]));
  const Result result = gumbel("run " + thinking_program("empty", end) + kDraw);
  EXPECT_EQ(result.out, trimmed(reply.substr(end.size()), false) + "\n");
  EXPECT_EQ(result.err, "");
}

TEST_F(ThinkingTest, RawPromptsAreNotDivided) {
  const std::string rest = std::string(kDraw) + "--raw-prompt";
  const Result plain = gumbel("run chat.gumbel" + rest);
  // A letter of the text would end the thought.
  std::smatch letter;
  ASSERT_TRUE(std::regex_search(plain.out, letter, std::regex("[A-Za-z0-9]")));
  const Result raw = gumbel("run " + thinking_program("raw", letter.str()) + rest);
  EXPECT_EQ(raw.out, plain.out);
  EXPECT_EQ(raw.err, "");
}

TEST_F(ThinkingTest, IsSwitchedByAnOption) {
  Engine engine(folder() / qwen35_program(), kOneThread);
  const std::vector<Message> messages = {{"user", "hello"}};
  for (const auto& [name, thinking] :
       std::vector<std::pair<std::string, Thinking>>{{"", Thinking::kDefault},
                                                     {" --thinking on", Thinking::kOn},
                                                     {" --thinking off", Thinking::kOff}}) {
    Session session = engine.create_session();
    ReplySplitter splitter = engine.reply_splitter(thinking);
    const Sampling sampling{1.5f, 0, 1.0f, 0.0f, 5};
    ReplyText expected;
    const auto add = [&](const ReplyText& text) {
      expected.thought += text.thought;
      expected.answer += text.answer;
    };
    Token token = session.prefill(engine.encode_chat(messages, thinking), sampling);
    for (int i = 1; i < 25 && !token.terminal; ++i) {
      add(splitter.add(token));
      token = session.decode(sampling);
    }
    add(splitter.add(token));
    add(splitter.finish());
    EXPECT_EQ(expected.thought.empty(), thinking == Thinking::kOff);
    const Result result = gumbel(
        "run qwen35.gumbel --prompt hello --temperature 1.5 --seed 5 "
        "--max-new-tokens 25" +
        name);
    EXPECT_EQ(result.out, expected.answer + "\n");
    EXPECT_EQ(result.err, expected.thought.empty() ? "" : expected.thought + "\n");
  }
}

TEST_F(ThinkingTest, Refusals) {
  expect_refusal(gumbel("run chat.gumbel --prompt x --thinking on"), 1,
                 "chat template has no thinking");
  EXPECT_EQ(gumbel("run chat.gumbel --prompt x --thinking off --max-new-tokens 1").status, 0);
  expect_refusal(gumbel("run text.gumbel --prompt x --thinking on"), 1,
                 "--thinking: expected a program with a chat template");
  expect_refusal(gumbel("run chat.gumbel --prompt x --thinking off --raw-prompt"), 1,
                 "and no --raw-prompt");
  expect_refusal(gumbel("run chat.gumbel --prompt x --thinking maybe"), 2, "--thinking");
}

// A change of thinking is written into the whole conversation, whose history has no thoughts.
TEST_F(ThinkingTest, AChatBeginsAnewWhereThinkingChanges) {
  Engine engine(folder() / thinking_program("chat-thinks", end_in(whole())), kOneThread);
  cli::GenerateOptions options;
  options.sampling = {2.0f, 0, 1.0f, 0.0f, 9};
  options.max_new_tokens = 60;
  cli::Chat chat(engine);
  const cli::Answer first = chat.send("hello", options);
  EXPECT_FALSE(first.thought.empty());
  EXPECT_FALSE(first.text.empty());
  options.max_new_tokens = 5;
  const int64_t before = chat.session().position();

  // Without a change, what the session holds stays: its last token and the reply are fed.
  chat.set_thinking(Thinking::kDefault);
  const auto reply =
      static_cast<int64_t>(engine.encode_reply("us", chat.session().last_token()).size());
  const cli::Answer second = chat.send("us", options);
  EXPECT_EQ(chat.session().position(), before + 1 + reply + second.tokens - 1);

  chat.set_thinking(Thinking::kOn);
  const cli::Answer third = chat.send("ok", options);
  const std::vector<Message> messages = {{"user", "hello"},
                                         {"assistant", first.text},
                                         {"user", "us"},
                                         {"assistant", second.text},
                                         {"user", "ok"}};
  const auto whole_chat = engine.encode_chat(messages, Thinking::kOn);
  EXPECT_EQ(chat.session().position(), static_cast<int64_t>(whole_chat.size()) + third.tokens - 1);
}

TEST_F(ThinkingTest, AChatRefusesWhatItsFormatDoesNotHave) {
  Engine engine(folder() / "chat.gumbel", kOneThread);
  cli::Chat chat(engine);
  expect_error(ErrorCode::kUnsupported, "has no thinking",
               [&] { chat.set_thinking(Thinking::kOn); });
  cli::GenerateOptions options;
  options.max_new_tokens = 2;
  EXPECT_GT(chat.send("hello", options).tokens, 0);
}

}  // namespace
}  // namespace gumbel::test
