// A conversation whose message was interrupted before its answer began.
#include "cli/chat.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "engine/tiny_programs.h"

namespace gumbel::cli {
namespace {

using namespace test;

TEST(Chat, AnInterruptedMessageIsForgotten) {
  const TemporaryFolder folder;
  const auto source = write_tiny_folder(folder.path(), "qwen3", /*chat=*/true, /*positions=*/8192);
  // Chunks of one position, so that there is much to interrupt.
  const auto program =
      with_chunks(folder, export_to(folder, "chat", source.string(), {.sample = true}), 1, 1);
  Engine engine(program, kOneThread);
  GenerateOptions options;
  options.max_new_tokens = 12;
  const std::string expected = Chat(engine, "us").send("hello", options).text;

  ::signal(SIGINT, [](int) {});  // outside an answer
  Chat chat(engine, "us");
  bool interrupted = false;
  for (int attempt = 0; attempt < 20 && !interrupted; ++attempt) {
    chat.reset();
    std::thread stopper([] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      ::kill(::getpid(), SIGINT);
    });
    const Answer answer = chat.send(std::string(4000, 'x'), options);
    stopper.join();
    interrupted = answer.tokens == 0;
    if (interrupted) {
      EXPECT_EQ(answer.reason, EndReason::kInterrupted);
    }
  }
  ::signal(SIGINT, SIG_DFL);
  ASSERT_TRUE(interrupted);
  EXPECT_EQ(chat.send("hello", options).text, expected);
}

}  // namespace
}  // namespace gumbel::cli
