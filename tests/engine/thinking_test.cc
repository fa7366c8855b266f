// Thinking asked for by an application, and replies divided for it.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "engine/tiny_programs.h"

namespace gumbel {

void PrintTo(const ReplyText& text, std::ostream* out) {
  *out << "thought " << testing::PrintToString(text.thought) << ", answer "
       << testing::PrintToString(text.answer);
}

namespace {

using namespace test;
using Ids = std::vector<int64_t>;

// The tiny model with the chat template `name`.
std::string source_with(const TemporaryFolder& folder, const char* name) {
  const auto source = write_tiny_folder(folder.path() / name, "qwen3", /*chat=*/true);
  std::ofstream(source / "chat_template.jinja")
      << read_file(data_path(std::string("text/templates/") + name + ".jinja"));
  return source.string();
}

struct EngineThinking : testing::Test {
  TemporaryFolder folder;
  std::filesystem::path program =
      export_to(folder, "thinks", source_with(folder, "qwen3.5"), {.sample = true});
  Engine engine{program, kOneThread};
  const std::vector<Message> question = {{"user", "hello"}};

  // The program whose replies mark thoughts by control tokens, anywhere, and whose prompts do not
  // begin one.
  Engine with_control_tokens(const std::string& name, const std::string& header) {
    return Engine(edited(folder, name, program,
                         [&](Program& p) {
                           p.thoughts = {"<|im_start|>", "<|im_end|>", header, true};
                           p.chat_template = "{{ messages[0].content }}";
                         }),
                  kOneThread);
  }
};

ReplyText divide(ReplySplitter splitter, const std::vector<Token>& tokens) {
  ReplyText whole;
  const auto add = [&](const ReplyText& text) {
    whole.thought += text.thought;
    whole.answer += text.answer;
  };
  for (const Token& token : tokens) add(splitter.add(token));
  add(splitter.finish());
  return whole;
}

std::vector<Token> tokens_of(const Engine& engine, const std::string& text) {
  std::vector<Token> tokens;
  for (const int64_t id : engine.encode(text)) tokens.push_back({id, engine.decode(Ids{id})});
  return tokens;
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string::npos) return "";
  return text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
}

TEST_F(EngineThinking, IsAskedForByAnArgument) {
  EXPECT_TRUE(engine.info().has_chat_template);
  EXPECT_TRUE(engine.info().can_think);
  const std::string start = "user\nhello\nassistant\n<think>\n";
  EXPECT_EQ(engine.decode(engine.encode_chat(question)), start);
  EXPECT_EQ(engine.encode_chat(question, Thinking::kOn), engine.encode_chat(question));
  EXPECT_EQ(engine.decode(engine.encode_chat(question, Thinking::kOff)), start + "\n</think>\n\n");
  EXPECT_EQ(engine.decode(engine.encode_reply("hello", kImEnd)), "\n" + start);
  EXPECT_EQ(engine.decode(engine.encode_reply("hello", kImEnd, Thinking::kOff)),
            "\n" + start + "\n</think>\n\n");
}

TEST_F(EngineThinking, RepliesAreDividedAsTheyWereAskedFor) {
  const auto tokens = tokens_of(engine, "hello us\n</think>\n\nok");
  EXPECT_GT(tokens.size(), 10u);
  EXPECT_EQ(divide(engine.reply_splitter(), tokens), (ReplyText{"hello us", "ok"}));
  EXPECT_EQ(divide(engine.reply_splitter(Thinking::kOn), tokens), (ReplyText{"hello us", "ok"}));
  EXPECT_EQ(divide(engine.reply_splitter(Thinking::kOff), tokens),
            (ReplyText{"", "hello us\n</think>\n\nok"}));
  ReplySplitter splitter = engine.reply_splitter();
  EXPECT_EQ(splitter.add("a</thi"), (ReplyText{"a", ""}));
  ReplySplitter moved = std::move(splitter);
  EXPECT_EQ(moved.add("nk>b"), (ReplyText{"", "b"}));
}

TEST_F(EngineThinking, MarkersThatAreControlTokensHaveNoText) {
  Engine marked = with_control_tokens("marked", "us");
  const Token begin{kImStart, ""}, end{kImEnd, "", true};
  std::vector<Token> tokens = {begin, {'u', "u"}, {'s', "s"}, {'\n', "\n"}, {'a', "a"}};
  for (const Token& token : {end, Token{'b', "b"}, end, begin, end, Token{'c', "c"}})
    tokens.push_back(token);
  EXPECT_EQ(divide(marked.reply_splitter(), tokens), (ReplyText{"a", "bc"}));
  // Spelt in text they are text.
  EXPECT_EQ(divide(marked.reply_splitter(), tokens_of(marked, "<|im_start|>us<|im_end|>")),
            (ReplyText{"", "<|im_start|>us<|im_end|>"}));
}

TEST_F(EngineThinking, DrawnRepliesAreDivided) {
  Engine marked = with_control_tokens("drawn", "");
  Session session = marked.create_session();
  int divided = 0;
  for (int64_t seed = 0; seed < 300 && divided < 3; ++seed) {
    const Sampling sampling{2.0f, 0, 1.0f, 0.0f, seed};
    session.reset();
    std::vector<Token> tokens = {session.prefill(marked.encode("hello"), sampling)};
    while (tokens.size() < 40 && !tokens.back().terminal)
      tokens.push_back(session.decode(sampling));
    const auto begin = std::find_if(tokens.begin(), tokens.end(),
                                    [](const Token& token) { return token.id == kImStart; });
    if (begin == tokens.end()) continue;
    ++divided;
    std::string before, after;
    for (auto token = tokens.begin(); token != tokens.end(); ++token)
      (token <= begin ? before : after) += token->text;
    if (trimmed(before).empty()) before.clear();
    EXPECT_EQ(divide(marked.reply_splitter(), tokens), (ReplyText{trimmed(after), before}))
        << "seed " << seed;
  }
  EXPECT_EQ(divided, 3);
}

TEST_F(EngineThinking, FormatsWithoutItRefuseIt) {
  Engine plain(export_to(folder, "plain", source_with(folder, "qwen2.5"), {.sample = true}),
               kOneThread);
  EXPECT_FALSE(plain.info().can_think);
  const auto refused = [&](const std::function<void()>& call) {
    expect_error(ErrorCode::kUnsupported, "chat template has no thinking", call);
  };
  refused([&] { plain.encode_chat(question, Thinking::kOn); });
  refused([&] { plain.encode_reply("hello", kImEnd, Thinking::kOn); });
  refused([&] { plain.reply_splitter(Thinking::kOn); });
  EXPECT_EQ(plain.encode_chat(question, Thinking::kOff), plain.encode_chat(question));
  const std::string text = "<think>\nx\n</think>\n\ny";
  EXPECT_EQ(divide(plain.reply_splitter(), tokens_of(plain, text)), (ReplyText{"", text}));

  Engine bare = Engine(edited(folder, "bare", program, [](Program& p) { p.chat_template.clear(); }),
                       kOneThread);
  EXPECT_FALSE(bare.info().can_think);
  expect_error(ErrorCode::kUnsupported, "chat template", [&] { bare.reply_splitter(); });
}

TEST_F(EngineThinking, Gemma4SaysItInTheSystemMessage) {
  Engine gemma(export_to(folder, "gemma4", source_with(folder, "gemma4"), {.sample = true}),
               kOneThread);
  EXPECT_TRUE(gemma.info().can_think);
  // This tokenizer has no BOS, and the markers are text to it.
  EXPECT_EQ(gemma.decode(gemma.encode_chat(question, Thinking::kOn)),
            "<|turn>system\n<|think|>\n<turn|>\n<|turn>user\nhello<turn|>\n<|turn>model\n");
  EXPECT_EQ(gemma.encode_chat(question, Thinking::kOff), gemma.encode_chat(question));
  EXPECT_EQ(gemma.decode(gemma.encode_chat(question)),
            "<|turn>user\nhello<turn|>\n<|turn>model\n<|channel>thought\n<channel|>");
  EXPECT_EQ(divide(gemma.reply_splitter(Thinking::kOn),
                   tokens_of(gemma, "<|channel>thought\nus\n<channel|>ok")),
            (ReplyText{"us", "ok"}));
}

}  // namespace
}  // namespace gumbel
