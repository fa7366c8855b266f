// Programs damaged on disk after they were written.
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "engine/tiny_programs.h"
#include "program/program_file.h"

namespace gumbel {
namespace {

using namespace test;

struct Damage : testing::Test {
  TemporaryFolder folder;
  std::filesystem::path program =
      export_to(folder, "qwen3", checkpoint_path("qwen3").string(), {.sample = true});

  // Flips a bit in the middle of a weight, which changes its value by little; gives its name.
  std::string flip_a_bit() {
    uint64_t at;
    std::string name;
    {
      const ProgramFile file(program);
      const WeightInfo& weight = file.program().weights[file.program().weights.size() / 2];
      name = weight.name;
      at = weight.offset + weight.bytes / 2;
    }
    std::fstream file(program, std::ios::binary | std::ios::in | std::ios::out);
    file.seekg(static_cast<std::streamoff>(at));
    const auto byte = static_cast<char>(file.get() ^ 1);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(byte);
    return name;
  }
};

// Calls `act` until it throws; the message. Empty if it never does.
std::string error_in_time(const std::function<void()>& act) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (std::chrono::steady_clock::now() < end) {
    try {
      act();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kCorruptFile) << error.what();
      return error.what();
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return "";
}

TEST_F(Damage, AFlippedBitIsFoundInTheBackground) {
  const std::string name = flip_a_bit();
  Engine engine(program, kOneThread);
  Session session = engine.create_session();
  const std::string error = error_in_time([&] {
    session.reset();
    session.prefill(some_tokens(3), kGreedy);
    session.decode(kGreedy);
  });
  EXPECT_NE(error.find("weight " + name + ": its checksum is"), std::string::npos) << error;
  // It stays so, for this session and for others.
  expect_error(ErrorCode::kFailedState, "", [&] { session.decode(kGreedy); });
  Session other = engine.create_session();
  expect_error(ErrorCode::kCorruptFile, name, [&] { other.prefill(some_tokens(1), kGreedy); });
}

TEST_F(Damage, CheckingFirstRefusesTheProgram) {
  EXPECT_NO_THROW(Engine(program, {.threads = 1, .check_weights = true}));
  const std::string name = flip_a_bit();
  expect_error(ErrorCode::kCorruptFile, "weight " + name,
               [&] { Engine(program, {.threads = 1, .check_weights = true}); });
  // Weights that are packed anew are read anyway.
  expect_error(ErrorCode::kCorruptFile, "weight " + name,
               [&] { Engine(program, {.backend = "reference", .threads = 1}); });
}

TEST_F(Damage, AnEngineMayGoBeforeItsWeightsAreChecked) {
  for (int i = 0; i < 20; ++i) Engine(program, kOneThread).create_session();
}

}  // namespace
}  // namespace gumbel
