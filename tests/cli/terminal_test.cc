// The chat, and Ctrl-C, under a terminal.
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include <regex>
#include <vector>

#include "cli/program.h"

namespace gumbel::test {
namespace {

// The gumbel program on a terminal of its own, which shows what is typed as well.
class Terminal {
 public:
  explicit Terminal(std::vector<std::string> arguments, unsigned short columns = 200) {
    arguments.insert(arguments.begin(), "gumbel");
    arguments.insert(arguments.end(), {"--threads", "1"});
    std::vector<char*> pointers;
    for (std::string& argument : arguments) pointers.push_back(argument.data());
    pointers.push_back(nullptr);
    const winsize size{.ws_row = 24, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    child_ = ::forkpty(&descriptor_, nullptr, nullptr, &size);
    if (child_ == 0) {
      ::setenv("TERM", "xterm", 1);
      ::execv(GUMBEL_PROGRAM, pointers.data());
      ::_exit(127);
    }
    EXPECT_GT(child_, 0);
  }
  ~Terminal() {
    if (child_ > 0) {
      ::kill(child_, SIGKILL);
      ::waitpid(child_, nullptr, 0);
    }
    ::close(descriptor_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(const std::string& text) {
    EXPECT_EQ(::write(descriptor_, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }

  // Whether `text` appears soon.
  bool shows(const std::string& text) {
    for (int i = 0; i < 20 && pending_.find(text) == std::string::npos; ++i) read_some(20);
    return pending_.find(text) != std::string::npos;
  }

  // What appears up to and with `text`.
  std::string read_until(const std::string& text) {
    size_t at;
    while ((at = pending_.find(text)) == std::string::npos) {
      if (!read_some()) {
        ADD_FAILURE() << "expected \"" << text << "\", the terminal shows: " << pending_;
        return "";
      }
    }
    std::string shown = pending_.substr(0, at + text.size());
    pending_.erase(0, at + text.size());
    return shown;
  }

  // Waits until the line editor reads keys: what is typed before, the terminal shows as well.
  void wait_for_editor() {
    termios settings{};
    for (int i = 0; i < 1000; ++i) {
      if (::tcgetattr(descriptor_, &settings) == 0 && (settings.c_lflag & ICANON) == 0) return;
      ::usleep(10000);
    }
    ADD_FAILURE() << "expected a line editor, the terminal shows: " << pending_;
  }

  // Types a line at the prompt; what appears up to the next prompt, without what was typed.
  std::string enter(const std::string& line) {
    wait_for_editor();
    type(line + "\n");
    read_until(line + "\r\n");
    std::string shown = "\n";
    do {
      shown += read_until("> ");
    } while (!shown.ends_with("\n> ") && !testing::Test::HasFailure());
    return shown.substr(1, shown.size() - 3);
  }

  // Waits until something appears.
  void read_any() {
    pending_.clear();
    EXPECT_TRUE(read_some());
  }

  // The exit status, once the program has ended by itself.
  int wait() {
    while (read_some()) {
    }
    int status = 0;
    pid_t ended = 0;
    for (int i = 0; i < 2000 && ended == 0; ++i) {
      ended = ::waitpid(child_, &status, WNOHANG);
      if (ended == 0) ::usleep(10000);
    }
    EXPECT_EQ(ended, child_) << "expected the program to end, the terminal shows: " << pending_;
    if (ended != child_) return -1;  // the destructor kills it
    child_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  const std::string& pending() const { return pending_; }

 private:
  bool read_some(int milliseconds = 20000) {
    pollfd waiting{descriptor_, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds) <= 0) return false;
    char bytes[4096];
    const ssize_t count = ::read(descriptor_, bytes, sizeof(bytes));
    if (count <= 0) return false;
    pending_.append(bytes, static_cast<size_t>(count));
    // The request for pastes to be marked, and its end, show nothing.
    for (const char* request : {"\x1b[?2004h", "\x1b[?2004l"})
      for (size_t at; (at = pending_.find(request)) != std::string::npos;) pending_.erase(at, 8);
    return true;
  }

  int descriptor_ = -1;
  pid_t child_ = -1;
  std::string pending_;
};

struct ChatTest : CliTest {
  static std::string path(const char* name) { return (folder() / name).string(); }
  static std::string long_program() {
    if (!std::filesystem::exists(folder() / "long.gumbel")) {
      write_tiny_folder(folder(), "qwen3", /*chat=*/true, /*positions=*/8192);
      EXPECT_EQ(gumbel("export qwen3-chat-long -o long.gumbel --sample").status, 0);
    }
    return path("long.gumbel");
  }
};

// Control characters as a terminal is shown them: by their pictures.
std::string visible(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      out += std::string("\xE2\x90") + static_cast<char>(0x80 + byte);
    } else {
      out += byte == 0x7F ? std::string("\xE2\x90\xA1") : std::string(1, c);
    }
  }
  return out;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ChatTest, CommandsAndAnswers) {
  Terminal terminal({"run", path("chat.gumbel"), "--seed", "5", "--max-new-tokens", "12"});
  EXPECT_TRUE(
      contains(terminal.read_until("> "), "seed 5; /reset, /seed N, /temperature T, /exit"));
  const std::string first = terminal.enter("hello");
  EXPECT_FALSE(first.empty());
  const std::string second = terminal.enter("hello");
  EXPECT_NE(second, first);  // it follows the first
  EXPECT_EQ(terminal.enter("/reset"), "");
  EXPECT_EQ(terminal.enter("hello"), first);
  EXPECT_EQ(terminal.enter("hello"), second);
  EXPECT_EQ(terminal.enter(""), "");
  terminal.enter("/reset");
  EXPECT_EQ(terminal.enter("/seed 6"), "");
  const std::string other = terminal.enter("hello");
  EXPECT_NE(other, first);
  terminal.enter("/reset");
  EXPECT_EQ(terminal.enter("/temperature 0"), "");
  const std::string greedy = terminal.enter("hello");
  terminal.enter("/reset");
  terminal.enter("/seed 5");
  EXPECT_EQ(terminal.enter("hello"), greedy);
  for (const char* wrong : {"/seed", "/seed x", "/seed 1x", "/seed 99999999999999999999"})
    EXPECT_TRUE(
        contains(terminal.enter(wrong), "/seed: expected a whole number from -2^63 to 2^64 - 1"))
        << wrong;
  for (const char* wrong : {"/temperature 3", "/temperature -1", "/temperature nan"})
    EXPECT_TRUE(contains(terminal.enter(wrong), "/temperature: expected 0 to 2")) << wrong;
  EXPECT_TRUE(contains(terminal.enter("/jump"), "expected /reset, /seed N"));
  terminal.enter("/reset");
  EXPECT_EQ(terminal.enter("hello"), greedy);  // none of that changed anything
  terminal.type(std::string(300, 'x') + "\n");
  terminal.read_until("at most 256 tokens");
  terminal.read_until("\n> ");
  terminal.type("/exit\n");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(ChatTest, EndOfInputEndsTheChat) {
  Terminal terminal({"run", path("chat.gumbel"), "--seed", "5", "--max-new-tokens", "3"});
  terminal.read_until("> ");
  terminal.wait_for_editor();
  terminal.type("\x04");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(ChatTest, InterruptStopsTheAnswerAlone) {
  Terminal terminal({"run", long_program(), "--seed", "5", "--ignore-eos"});
  terminal.read_until("> ");
  for (int i = 0; i < 2; ++i) {
    terminal.wait_for_editor();
    terminal.type("hello\n");
    terminal.read_until("hello\r\n");
    terminal.read_any();
    terminal.type("\x03");
    terminal.read_until("[stopped]\r\n> ");
  }
  // At the prompt it drops the line and shows a new prompt. The next answer is not stopped.
  terminal.wait_for_editor();
  terminal.type("half a line\x03");
  terminal.read_until("\n> ");
  EXPECT_EQ(terminal.enter("/reset"), "");
  terminal.wait_for_editor();
  terminal.type("\x03");
  terminal.read_until("\n> ");
  terminal.wait_for_editor();
  terminal.type("hello\n");
  terminal.read_until("hello\r\n");
  terminal.read_any();
  EXPECT_FALSE(terminal.shows("[stopped]"));
  terminal.type("\x03");
  terminal.read_until("[stopped]\r\n> ");
  terminal.wait_for_editor();
  terminal.type("/exit\n");
  EXPECT_EQ(terminal.wait(), 0);
}

TEST_F(ChatTest, InterruptEndsASingleAnswer) {
  Terminal terminal(
      {"run", long_program(), "--seed", "5", "--ignore-eos", "--prompt", "hello", "--stats"});
  terminal.read_any();
  terminal.type("\x03");
  terminal.read_until("decode:");
  EXPECT_EQ(terminal.wait(), 130);
  EXPECT_FALSE(contains(terminal.pending(), "is full"));
}

TEST_F(ChatTest, AChatOutgrowsItsContextAndGoesOn) {
  Terminal terminal({"run", path("chat.gumbel"), "--seed", "5", "--max-new-tokens", "30"});
  terminal.read_until("> ");
  int forgot = 0;
  for (int i = 0; i < 12; ++i)
    forgot +=
        contains(terminal.enter("hello"), "[the context of 256 positions is full: the oldest ") ? 1
                                                                                                : 0;
  EXPECT_GT(forgot, 1);
  terminal.type("/exit\n");
  EXPECT_EQ(terminal.wait(), 0);

  Terminal endless({"run", path("chat.gumbel"), "--seed", "5", "--ignore-eos"});
  endless.read_until("> ");
  EXPECT_TRUE(contains(endless.enter("hello"), "[the context is full]"));
  EXPECT_TRUE(contains(endless.enter("hello"), "is full: the oldest 1 turns are forgotten]"));
  endless.type("/exit\n");
  EXPECT_EQ(endless.wait(), 0);
}

TEST_F(ChatTest, SystemMessagesStay) {
  Terminal terminal(
      {"run", path("chat.gumbel"), "--seed", "5", "--max-new-tokens", "8", "--system", "us"});
  terminal.read_until("> ");
  const std::string first = terminal.enter("hello");
  const std::string out =
      gumbel("run chat.gumbel --seed 5 --max-new-tokens 8 --system us --prompt hello").out;
  EXPECT_EQ(first, std::regex_replace(out, std::regex("\n"), "\r\n"));
  terminal.enter("/reset");
  EXPECT_EQ(terminal.enter("hello"), first);
}

TEST_F(ChatTest, ThoughtsAreDimmed) {
  // A reply with a letter that can end the thought.
  std::string reply, seed;
  size_t at = std::string::npos;
  for (int i = 0; i < 50 && at == std::string::npos; ++i) {
    seed = std::to_string(i);
    reply = gumbel("run chat.gumbel --max-new-tokens 20 --prompt hello --seed " + seed).out;
    for (size_t k = 3; k + 4 < reply.size() && at == std::string::npos; ++k)
      if (std::isalpha(static_cast<unsigned char>(reply[k])) && reply.find(reply[k]) == k &&
          reply.find_first_of(" \t\r\n\x1b\x07\x08") == reply.size() - 1)
        at = k;
  }
  ASSERT_NE(at, std::string::npos);
  const std::string thought = reply.substr(0, at);
  const std::string answer = reply.substr(at + 1, reply.size() - at - 2);
  Terminal terminal({"run", path(thinking_program("dimmed", std::string(1, reply[at])).c_str()),
                     "--seed", seed, "--max-new-tokens", "20", "--thinking", "on"});
  EXPECT_TRUE(
      contains(terminal.read_until("> "),
               "seed " + seed + "; /reset, /seed N, /temperature T, /thinking on|off, /exit"));
  const std::string shown = "\x1b[2m" + visible(thought) + "\x1b[0m\r\n" + visible(answer) + "\r\n";
  EXPECT_EQ(terminal.enter("hello"), shown);
  for (const char* command : {"/thinking off", "/thinking on", "/reset"})
    EXPECT_EQ(terminal.enter(command), "");
  EXPECT_EQ(terminal.enter("hello"), shown);
  for (const char* wrong : {"/thinking", "/thinking maybe", "/thinking  on"})
    EXPECT_TRUE(contains(terminal.enter(wrong), "/thinking: expected on or off")) << wrong;
  terminal.type("/exit\n");
  EXPECT_EQ(terminal.wait(), 0);

  Terminal plain({"run", path("chat.gumbel"), "--seed", "5", "--max-new-tokens", "3"});
  plain.read_until("> ");
  EXPECT_TRUE(contains(plain.enter("/thinking on"), "chat template has no thinking"));
  EXPECT_EQ(plain.enter("/thinking off"), "");
  EXPECT_FALSE(plain.enter("hello").empty());
  plain.type("/exit\n");
  EXPECT_EQ(plain.wait(), 0);
}

TEST_F(ChatTest, ProgramsWithoutAChatTemplateSaySo) {
  Terminal terminal({"run", path("text.gumbel")});
  terminal.read_until("expected a program with a chat template");
  EXPECT_EQ(terminal.wait(), 1);
}

using TerminalTest = CliTest;

TEST_F(TerminalTest, AnExportShowsHowFarItIs) {
  const std::string output = (folder() / "shown.gumbel").string();
  Terminal terminal({"export", (folder() / "qwen3-chat").string(), "-o", output});
  const std::string bar = terminal.read_until(" left");
  EXPECT_TRUE(std::regex_search(
      bar, std::regex(R"(\r\[=* *\] +\d+ %, \d+ MB/s read, \d+ MB/s written, \d+:\d\d left)")))
      << bar;
  EXPECT_EQ(terminal.wait(), 0);
  EXPECT_TRUE(contains(bar + terminal.pending(), "[========================] 100 %"));
  EXPECT_TRUE(std::regex_search(terminal.pending(), std::regex(R"(\n.*shown\.gumbel: qwen3)")))
      << terminal.pending();
  // So does one into the cache.
  Terminal run({"run", (folder() / "qwen3-chat").string(), "--prompt", "a"});
  EXPECT_TRUE(contains(run.read_until("100 %"), "qwen3-chat: exporting into the cache\r\n"));
  EXPECT_EQ(run.wait(), 0);
  // Where nobody looks, nothing is shown.
  const Result result = gumbel("export qwen3-chat -o shown.gumbel");
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
}

}  // namespace
}  // namespace gumbel::test
