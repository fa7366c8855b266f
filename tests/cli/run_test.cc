// gumbel run: prompts, draws and ends of answers.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "cli/program.h"

namespace gumbel::test {
namespace {

using RunCommand = CliTest;

std::string answer(const Result& result) {
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_TRUE(result.out.ends_with('\n'));
  return result.out.substr(0, result.out.size() - 1);
}

TEST_F(RunCommand, PromptsFromEverywhere) {
  const std::string prompt = "hello [a, b] \"you\"\n'us' \\n {} %s";
  files().write("prompt", prompt + "\n");
  const std::string rest = " --seed 3 --max-new-tokens 30";
  const std::string expected = answer(gumbel("run chat.gumbel --prompt " + quoted(prompt) + rest));
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(answer(gumbel("run chat.gumbel --prompt-file prompt" + rest)), expected);
  EXPECT_EQ(answer(gumbel("run chat.gumbel --prompt-file - <prompt" + rest)), expected);
  EXPECT_EQ(answer(shell(folder(), "cat prompt | gumbel run chat.gumbel --prompt-file -" + rest)),
            expected);
  EXPECT_NE(answer(gumbel("run chat.gumbel --prompt other" + rest)), expected);
  EXPECT_FALSE(answer(gumbel("run chat.gumbel --prompt --stats" + rest)).empty());
}

TEST_F(RunCommand, AnswersAreWhatTheEngineDraws) {
  Engine engine(folder() / "chat.gumbel");
  Session session = engine.create_session();
  const std::vector<Message> messages = {{"system", "us"}, {"user", "ok"}};
  const Sampling sampling{1.5f, 50, 0.9f, 0.01f, 12345678901};
  std::string expected;
  Token token = session.prefill(engine.encode_chat(messages), sampling);
  for (int i = 1; i < 25 && !token.terminal; ++i) {
    expected += token.text;
    token = session.decode(sampling);
  }
  expected += token.text;
  EXPECT_EQ(answer(gumbel("run chat.gumbel --system us --prompt ok --temperature 1.5 --top-k 50 "
                          "--top-p 0.9 --min-p 0.01 --seed 12345678901 --max-new-tokens 25 "
                          "--threads 2")),
            expected);
}

TEST_F(RunCommand, AnEmptySystemMessageIsOne) {
  const std::string rest = " --prompt hello --seed 3 --temperature 1 --max-new-tokens 20 --stats";
  const auto prompt_tokens = [&](const std::string& system) {
    const std::string err = gumbel("run chat.gumbel" + system + rest).err;
    std::smatch match;
    EXPECT_TRUE(std::regex_search(err, match, std::regex("prefill: +(\\d+) tokens"))) << err;
    return std::stoi(match[1].str());
  };
  EXPECT_GT(prompt_tokens(" --system ''"), prompt_tokens(""));
}

TEST_F(RunCommand, SeedsArePrintedAndRepeatTheText) {
  std::string before;
  for (const char* seed : {"", " --seed -1"}) {
    const std::string command = "run chat.gumbel --prompt x --temperature 2 --max-new-tokens 40";
    const Result drawn = gumbel(command + seed);
    std::smatch match;
    ASSERT_TRUE(std::regex_match(drawn.err, match, std::regex("seed: (\\d+)\n"))) << drawn.err;
    const Result again = gumbel(command + " --seed " + match[1].str());
    EXPECT_EQ(again.out, drawn.out);
    EXPECT_EQ(again.err, "");
    EXPECT_NE(match[1].str(), before);
    before = match[1].str();
  }
  const Result greedy = gumbel("run chat.gumbel --prompt x --temperature 0 --max-new-tokens 9");
  EXPECT_EQ(greedy.err, "");
  EXPECT_EQ(gumbel("run chat.gumbel --prompt x --temperature 0 --max-new-tokens 9").out,
            greedy.out);
}

TEST_F(RunCommand, SeedsAreTakenByTheirBits) {
  const std::string command = "run chat.gumbel --prompt hello --max-new-tokens 20 --seed ";
  const std::pair<const char*, const char*> same[] = {
      {"18446744073709551615", "0018446744073709551615"},
      {"18446744073709551614", "-2"},
      {"9223372036854775808", "-9223372036854775808"}};
  for (const auto& [one, other] : same) {
    const Result result = gumbel(command + one);
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");  // no seed was drawn
    EXPECT_EQ(gumbel(command + other).out, result.out);
  }
  EXPECT_NE(gumbel(command + "18446744073709551615").out,
            gumbel(command + "18446744073709551614").out);
}

TEST_F(RunCommand, CheckReadsEveryWeightFirst) {
  const std::string rest = " --prompt hello --seed 1 --max-new-tokens 5 --check";
  EXPECT_EQ(gumbel("run chat.gumbel" + rest).status, 0);
  const Result copy = shell(folder(),
                            "cp chat.gumbel flipped.gumbel && size=$(stat -c %s flipped.gumbel) && "
                            "tail -c 1 flipped.gumbel | tr '\\000-\\377' '\\001-\\377\\000' | "
                            "dd of=flipped.gumbel bs=1 seek=$((size-1)) conv=notrunc 2>/dev/null");
  ASSERT_EQ(copy.status, 0) << copy.err;
  expect_refusal(gumbel("run flipped.gumbel" + rest), 1, ": its checksum is ");
}

TEST_F(RunCommand, HostSamplingAndBackendsDrawTheSame) {
  const std::string rest =
      " --prompt hello --temperature 1.3 --top-p 0.8 --seed 9 --max-new-tokens 20";
  const std::string expected = answer(gumbel("run chat.gumbel" + rest));
  EXPECT_EQ(answer(gumbel("run logits.gumbel --host-sampling" + rest)), expected);
  EXPECT_EQ(answer(gumbel("run chat.gumbel --backend reference" + rest)), expected);
  EXPECT_EQ(answer(shell(folder(), "GUMBEL_CPU_TARGET=scalar gumbel run chat.gumbel" + rest)),
            expected);
  EXPECT_EQ(answer(shell(folder(), "GUMBEL_CPU_TARGET= gumbel run chat.gumbel" + rest)), expected);
  // Without host sampling a program that returns logits decodes greedily.
  EXPECT_EQ(answer(gumbel("run logits.gumbel --prompt hello --max-new-tokens 20")),
            answer(gumbel("run chat.gumbel --prompt hello --temperature 0 --max-new-tokens 20")));
  ASSERT_EQ(gumbel("export qwen3-chat -o packed.gumbel --sample --backend reference").status, 0);
  EXPECT_EQ(answer(gumbel("run packed.gumbel" + rest)), expected);
}

TEST_F(RunCommand, RawPromptsAreCompleted) {
  const std::string rest = " --prompt hello --seed 9 --max-new-tokens 20";
  const Result text = gumbel("run text.gumbel" + rest);
  EXPECT_NE(text.err.find("no chat template"), std::string::npos);
  const Result raw = gumbel("run chat.gumbel --raw-prompt" + rest);
  EXPECT_EQ(raw.err, "");
  EXPECT_EQ(raw.out, text.out);
  EXPECT_EQ(gumbel("run text.gumbel --raw-prompt" + rest).err, "");
  EXPECT_NE(gumbel("run chat.gumbel" + rest).out, raw.out);
  EXPECT_NE(gumbel("run chat.gumbel --system us" + rest).out, gumbel("run chat.gumbel" + rest).out);
}

TEST_F(RunCommand, StopTextsEndTheAnswer) {
  const std::string command = "run --prompt hello --seed 9 --temperature 2 --max-new-tokens 60 ";
  const std::string whole = answer(gumbel(command + "chat.gumbel"));
  // A part of the answer of printable characters.
  std::smatch match;
  ASSERT_TRUE(std::regex_search(whole, match, std::regex("[A-Za-z0-9,;:.]{2}")));
  const std::string stop = match.str();
  const std::string expected = whole.substr(0, whole.find(stop));
  EXPECT_EQ(answer(gumbel(command + "--stop " + stop + " chat.gumbel")), expected);
  EXPECT_EQ(answer(gumbel(command + "chat.gumbel --stop never-there --stop " + stop)), expected);
  EXPECT_EQ(answer(gumbel(command + "chat.gumbel --stop never-there")), whole);
  // One text, brackets and commas and all.
  EXPECT_EQ(answer(gumbel(command + "chat.gumbel --stop '[" + stop + ",x]'")), whole);
  EXPECT_EQ(answer(gumbel(command + "chat.gumbel --stop ''")), whole);
}

TEST_F(RunCommand, EndsOfTurnsAndTokenCounts) {
  Engine engine(folder() / "text.gumbel");
  const Sampling sampling{2.0f, 0, 1.0f, 0.0f, 5};
  const std::vector<int64_t> ids = drawn(engine, engine.encode("hello"), sampling, 12);
  size_t end = 3;
  while (std::find(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(end), ids[end]) !=
         ids.begin() + static_cast<std::ptrdiff_t>(end))
    ++end;
  ASSERT_LT(end, 11u);
  files().write("qwen3-text/generation_config.json",
                "{\"eos_token_id\": [" + std::to_string(ids[end]) + ", 263]}");
  ASSERT_EQ(gumbel("export qwen3-text -o ends.gumbel --sample").status, 0);
  std::filesystem::remove(folder() / "qwen3-text/generation_config.json");
  const std::string command =
      "run ends.gumbel --raw-prompt --prompt hello --temperature 2 --seed 5 --stats ";
  const auto decoded = [&](const std::string& arguments) {
    const Result result = gumbel(command + arguments);
    std::smatch match;
    EXPECT_TRUE(std::regex_search(result.err, match, std::regex("decode: +(\\d+) tokens")))
        << result.err;
    return std::stoul(match[1].str());
  };
  EXPECT_EQ(decoded("--max-new-tokens 12"), end);
  EXPECT_EQ(decoded("--max-new-tokens 2"), 1u);
  EXPECT_EQ(decoded("--max-new-tokens 12 --ignore-eos"), 11u);
  const Result full = gumbel(command + "--ignore-eos");
  EXPECT_NE(full.err.find("[the context of 256 positions is full]"), std::string::npos);
  for (const char* label : {"load:", "prefill:", "decode:", "sampling:", "memory:"})
    EXPECT_NE(full.err.find(label), std::string::npos) << label;
}

}  // namespace
}  // namespace gumbel::test
