// Exit statuses, messages, and outputs that cannot be written.
#include <gtest/gtest.h>

#include <regex>

#include "cli/program.h"

namespace gumbel::test {
namespace {

using Usage = CliTest;

TEST_F(Usage, VersionAndHelp) {
  const Result version = gumbel("--version");
  EXPECT_EQ(version.status, 0);
  EXPECT_TRUE(std::regex_match(version.out, std::regex("gumbel \\d+\\.\\d+\\.\\d+\n")))
      << version.out;
  EXPECT_EQ(gumbel("--help").status, 0);
}

TEST_F(Usage, EveryDocumentedOptionExists) {
  const std::vector<std::pair<std::string, std::vector<std::string>>> commands = {
      {"export", {"SOURCE", "-o", "--sample", "--quantize", "--max-seq-len", "--kv", "--backend"}},
      {"run", {"MODEL",     "--quantize",    "--max-seq-len",   "--kv",
               "--prompt",  "--prompt-file", "--temperature",   "--top-k",
               "--top-p",   "--min-p",       "--seed",          "--max-new-tokens",
               "--system",  "--stop",        "--ignore-eos",    "--raw-prompt",
               "--threads", "--stats",       "--host-sampling", "--thinking"}},
      {"bench",
       {"MODEL", "-p", "-n", "--threads", "--repetitions", "--temperature", "--top-k", "--top-p",
        "--min-p", "--seed", "--json"}},
      {"eval", {"MODEL", "--answers", "--json", "--threads", "--chunk"}},
      {"tokenize", {"SOURCE", "--text", "--check"}},
      {"selftest", {"--vectors", "--backend"}},
      {"inspect", {"MODEL", "--check"}},
      {"cache", {"list", "clear"}},
      {"cache list", {"--json"}},
      {"cache clear", {"KEY"}}};
  for (const auto& [command, options] : commands) {
    const Result help = gumbel(command + " --help");
    EXPECT_EQ(help.status, 0);
    for (const std::string& option : options)
      EXPECT_TRUE(std::regex_search(help.out, std::regex("[ ,]" + option + "[ ,\n]")))
          << command << " " << option << "\n"
          << help.out;
  }
}

TEST_F(Usage, BadUsageEndsWithStatus2) {
  for (const char* arguments : {"",
                                "sing",
                                "run",
                                "run --prompt x",
                                "run chat.gumbel",
                                "run chat.gumbel --prompt",
                                "run chat.gumbel --loud --prompt x",
                                "run chat.gumbel extra --prompt x",
                                "run chat.gumbel --prompt x --prompt-file -",
                                "run chat.gumbel --prompt x --top-k many",
                                "run chat.gumbel --prompt x --temperature hot",
                                "run chat.gumbel --prompt x --seed 18446744073709551616",
                                "run chat.gumbel --prompt x --seed -9223372036854775809",
                                "run chat.gumbel --prompt x --seed 1.5",
                                "run chat.gumbel --prompt x --max-new-tokens 0",
                                "run chat.gumbel --prompt x --stop a b",
                                "export qwen3-chat",
                                "export -o x.gumbel",
                                "export qwen3-chat -o x.gumbel --quantize q3",
                                "export qwen3-chat -o x.gumbel --kv f8",
                                "bench chat.gumbel -p 0",
                                "bench chat.gumbel -n -1",
                                "bench chat.gumbel --repetitions 0",
                                "eval logits.gumbel",
                                "tokenize chat.gumbel",
                                "tokenize chat.gumbel --text a --check b",
                                "inspect",
                                "selftest --vectors"}) {
    const Result result = gumbel(arguments);
    SCOPED_TRACE(arguments);
    expect_refusal(result, 2, "");
  }
}

TEST_F(Usage, AMisspeltWordIsNamedWithWhatWasMeant) {
  const std::pair<const char*, const char*> cases[] = {
      {"exprot a", "unknown command 'exprot' (did you mean export?); expected export, run, "},
      {"frobnicate", "unknown command 'frobnicate'; expected export, run, "},
      {"", "expected a command: export, run, "},
      {"--verson", "unknown option '--verson' (did you mean --version?)"},
      {"run chat.gumbel --promt x", "run: unknown option '--promt' (did you mean --prompt?)"},
      {"run --sed=5 chat.gumbel", "run: unknown option '--sed' (did you mean --seed?)"},
      {"run chat.gumbel --loud --prompt x", "run: unknown option '--loud'; gumbel run --help"},
      {"inspect chat.gumbel more", "inspect: expected no further argument, got 'more'"},
      {"inspect", "inspect: MODEL is required"}};
  for (const auto& [arguments, message] : cases)
    expect_refusal(gumbel(arguments), 2, std::string("gumbel: ") + message);
}

// Neither the default nor the largest number there is.
TEST_F(Usage, NumbersAreWhatWasTyped) {
  const std::pair<std::string, std::vector<std::string>> commands[] = {
      {"run chat.gumbel --prompt x ",
       {"--top-k", "--temperature", "--top-p", "--min-p", "--seed", "--threads",
        "--max-new-tokens"}},
      {"bench chat.gumbel ", {"-p", "-n", "--repetitions", "--threads", "--top-k"}},
      {"eval logits.gumbel --answers x ", {"--chunk", "--threads"}},
      {"export qwen3-chat -o x.gumbel ", {"--max-seq-len", "--threads"}}};
  for (const auto& [command, options] : commands)
    for (const std::string& option : options) {
      SCOPED_TRACE(command + option);
      expect_refusal(gumbel(command + option + " ''"), 2, option + ": expected a ");
      expect_refusal(gumbel(command + option + " '1 '"), 2, ", got '1 '\n");
      if (option != "--temperature" && !option.ends_with("-p"))
        expect_refusal(gumbel(command + option + " 18446744073709551616"), 2,
                       "got '18446744073709551616'");
    }
  EXPECT_FALSE(std::filesystem::exists(folder() / "x.gumbel"));
}

TEST_F(Usage, BadInputEndsWithStatus1) {
  files().write("garbage", "not a model");
  files().write("empty", "");
  std::filesystem::create_directory(folder() / "folder");
  for (const char* file : {"nowhere", "folder", "garbage", "empty", "/dev/null"})
    for (const char* command : {"run %s --prompt x", "bench %s", "inspect %s", "export %s/x -o y",
                                "eval %s --answers garbage", "tokenize %s/x --text a"}) {
      std::string arguments = command;
      arguments.replace(arguments.find("%s"), 2, file);
      SCOPED_TRACE(arguments);
      expect_refusal(gumbel(arguments), 1, "");
    }
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"run chat.gumbel --prompt x --temperature 2.5", "temperature: expected 0 to 2, got 2.5"},
      {"run chat.gumbel --prompt x --temperature nan", "temperature"},
      {"run chat.gumbel --prompt x --top-p 0", "top_p"},
      {"run chat.gumbel --prompt x --min-p 1", "min_p"},
      {"run chat.gumbel --prompt x --top-k -1", "top_k"},
      {"run chat.gumbel --prompt x --backend abacus", "cpu, reference"},
      {"run chat.gumbel --prompt x --threads -1", "threads"},
      {"run logits.gumbel --prompt x --top-k 5", "--host-sampling"},
      {"run logits.gumbel --prompt x --seed 5", "--host-sampling"},
      {"run logits.gumbel --prompt x --temperature 0.5", "--sample"},
      {"run text.gumbel --prompt x --system y", "--system"},
      {"run text.gumbel --prompt x --system ''", "--system"},
      {"run chat.gumbel --prompt x --system y --raw-prompt", "--raw-prompt"},
      {"run text.gumbel --prompt ''", "at least one token"},
      {"run chat.gumbel --prompt-file nowhere", "nowhere"},
      {"run chat.gumbel --prompt-file qwen3-chat", "cannot read the prompt"},
      {"run chat.gumbel --prompt " + std::string(300, 'x'), "at most 256 tokens"},
      {"bench chat.gumbel -p 200 -n 57", "at most 256"},
      {"bench chat.gumbel -p 9223372036854775807 -n 9223372036854775807", "at most 256"},
      {"bench logits.gumbel -p 5 -n 5 --top-p 0.5", "--host-sampling"},
      {"export nowhere -o x.gumbel", "GGUF"},
      {"export garbage -o x.gumbel", "GGUF"},
      {"export random:nowhere -o x.gumbel", "config.json"},
      {"export qwen3-chat -o x.gumbel --max-seq-len 257", "1 to 256"},
      {"export qwen3-chat -o x.gumbel --max-seq-len -1", "1 to 256"},
      {"export qwen3-chat -o x.gumbel --backend abacus", "cpu, reference"},
      {"export qwen3-chat -o nowhere/x.gumbel", "nowhere/x.gumbel"},
      {"export qwen3-chat -o .", "directory"},
      {"eval chat.gumbel --answers qwen3-chat/model.safetensors", "--sample"},
      {"eval logits.gumbel --answers qwen3-chat/model.safetensors", "0.tokens"},
      {"selftest --vectors garbage", "cases"},
      {"selftest --backend abacus", "cpu, reference"},
      {"run chat.gumbel --prompt-file /dev/zero", "at most 16777216 bytes"},
      {"selftest --vectors qwen3-chat", "qwen3-chat: cannot read"},
      {"selftest --vectors ''", "cannot read"},
      {"tokenize chat.gumbel --check nowhere", "nowhere"},
      {"tokenize chat.gumbel --check qwen3-chat", "qwen3-chat: cannot read"},
      {"tokenize chat.gumbel --check empty", "empty: expected answers"},
      {"tokenize chat.gumbel --check ''", "cannot read"},
      {"tokenize chat.gumbel --check garbage", "line 1"}};
  for (const auto& [arguments, part] : cases) {
    SCOPED_TRACE(arguments);
    expect_refusal(gumbel(arguments), 1, part);
  }
  expect_refusal(shell(folder(), "GUMBEL_CPU_TARGET=abacus gumbel run chat.gumbel --prompt x"), 1,
                 "GUMBEL_CPU_TARGET");
  EXPECT_FALSE(std::filesystem::exists(folder() / "x.gumbel"));
}

TEST_F(Usage, ThreadsThatCannotStartAreAnError) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer needs terabytes of address space";
#endif
  // Address space for the program, not for the stacks of a thousand threads.
  expect_refusal(shell(folder(),
                       "( ulimit -v 1000000; ulimit -s 8192; "
                       "gumbel run chat.gumbel --prompt x --threads 1024 )"),
                 1, "cannot start 1024 threads");
}

TEST_F(Usage, OutputsThatCannotBeWritten) {
  for (const char* command :
       {"run chat.gumbel --prompt x --seed 1 --max-new-tokens 9", "inspect chat.gumbel",
        "tokenize chat.gumbel --text hello", "bench chat.gumbel -p 2 -n 2 --json", "selftest",
        "--version", "run --help"}) {
    SCOPED_TRACE(command);
    expect_refusal(shell(folder(), std::string("gumbel ") + command + " >/dev/full"), 1,
                   "cannot write");
    expect_refusal(shell(folder(), std::string("gumbel ") + command + " >&-"), 1, "cannot write");
    // A pipe whose reader has gone.
    const Result closed = shell(
        folder(), std::string("{ sleep 0.1; gumbel ") + command + "; echo $? >status; } | true");
    EXPECT_EQ(read_file(folder() / "status"), "1\n");
    EXPECT_NE(closed.err.find("cannot write"), std::string::npos) << closed.err;
  }
  // One that goes after the first byte: with nothing more to write that is no error.
  shell(folder(),
        "{ gumbel run chat.gumbel --prompt x --seed 1; echo $? >status; } | head -c 1 >/dev/null");
  const std::string status = read_file(folder() / "status");
  EXPECT_TRUE(status == "0\n" || status == "1\n") << status;
  // Without standard error there is nowhere to say it, but the status tells.
  EXPECT_EQ(shell(folder(), "gumbel run nowhere --prompt x 2>&-").status, 1);
  EXPECT_EQ(shell(folder(), "gumbel run chat.gumbel --loud 2>/dev/full").status, 2);
}

TEST_F(Usage, FullDiskWhileExporting) {
  const auto files_there = [] {
    size_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder()))
      count += entry.exists() ? 1 : 0;
    return count;
  };
  files().write("kept.gumbel", "what was there before");
  const size_t before = files_there();
  // Blocks of 512 bytes: enough for the first weights, not for all.
  for (const char* blocks : {"1", "20", "200"})
    expect_refusal(shell(folder(), std::string("( ulimit -f ") + blocks +
                                       "; gumbel export qwen3-chat -o kept.gumbel )"),
                   1, "cannot write");
  EXPECT_EQ(files_there(), before) << "a partial file was left behind";
  EXPECT_EQ(read_file(folder() / "kept.gumbel"), "what was there before");
}

TEST_F(Usage, ExportNeverReplacesItsSource) {
  shell(folder(), "cp -r qwen3-chat source; ln -s source/model.safetensors link");
  for (const char* output : {"source/model.safetensors", "source/config.json",
                             "source/../source/tokenizer.json", "link"}) {
    SCOPED_TRACE(output);
    expect_refusal(gumbel(std::string("export source -o ") + output), 1,
                   "expected another file than the source's");
  }
  expect_refusal(gumbel("export random:source/config.json -o source/config.json"), 1,
                 "expected another file than the source's");
  EXPECT_EQ(shell(folder(), "diff -r qwen3-chat source").status, 0);
  EXPECT_EQ(gumbel("export source -o source/model.gumbel").status, 0);
}

// The configuration of a model of gigabytes, whose export is under way when its file is first seen.
void write_large_config(const TemporaryFolder& folder) {
  folder.write("large.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
      "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
      "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 32000,
      "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
      "tie_word_embeddings": true})");
}

// Exports it, sends the signal once the export writes its file, which one that was killed may have
// left already, and prints the status and the files left.
std::string interrupted_export(const std::string& signal) {
  return ": > started; " + quoted(GUMBEL_PROGRAM) +
         " export random:large.json -o large.gumbel & "
         "while kill -0 $! && ! [ large.gumbel.partial -nt started ]; do sleep 0.01; done "
         ">/dev/null 2>&1; "
         "kill -" +
         signal + " $!; wait $!; echo status $?; ls large.gumbel*";
}

TEST_F(Usage, InterruptedExportLeavesNoFile) {
  write_large_config(files());
  for (const auto& [signal, status] : {std::pair<std::string, int>{"TERM", 143}, {"HUP", 129}}) {
    const Result result = shell(folder(), interrupted_export(signal));
    EXPECT_EQ(result.out, "status " + std::to_string(status) + "\n") << result.err;
  }
}

TEST_F(Usage, WhatAKilledExportLeftGoesWithTheNextOne) {
  write_large_config(files());
  EXPECT_EQ(shell(folder(), interrupted_export("KILL")).out, "status 137\nlarge.gumbel.partial\n");
  EXPECT_EQ(shell(folder(), interrupted_export("TERM")).out, "status 143\n");
  // The next one may as well be of another model.
  EXPECT_EQ(shell(folder(), interrupted_export("KILL")).out, "status 137\nlarge.gumbel.partial\n");
  EXPECT_EQ(gumbel("export qwen3-chat -o large.gumbel").status, 0);
  EXPECT_EQ(shell(folder(), "ls large.gumbel*").out, "large.gumbel\n");
  EXPECT_EQ(gumbel("inspect large.gumbel --check").status, 0);
  std::filesystem::remove(folder() / "large.gumbel");
}

TEST_F(Usage, AFullDiskIsOneLineAndLeavesNoFile) {
  write_large_config(files());
  expect_refusal(
      shell(folder(), "ulimit -f 20000; gumbel export random:large.json -o large.gumbel"), 1,
      "large.gumbel.partial: cannot write");
  EXPECT_EQ(shell(folder(), "ls | grep large.gumbel").out, "");
}

TEST_F(Usage, TheSourceIsNotOverwrittenByTheTemporaryFile) {
  EXPECT_EQ(shell(folder(),
                  "cp -r qwen3-chat own && mv own/config.json own/p.partial && "
                  "ln -s p.partial own/config.json")
                .status,
            0);
  expect_refusal(gumbel("export own -o own/p"), 1, "expected another file than the source's");
}

}  // namespace
}  // namespace gumbel::test
