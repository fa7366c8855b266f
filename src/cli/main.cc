// gumbel: export models, run them, and check and measure what they draw.
#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>
#include <string>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/signal_scope.h"
#include "cli/suggest.h"

namespace {

constexpr int kBadInput = 1;
constexpr int kBadUsage = 2;
constexpr int kInterrupted = 130;  // 128 + SIGINT, as shells give it

// Errors are one line, whatever a message quotes from a hostile file. Standard error may be closed,
// so nothing here throws.
int report(const char* message, int status) {
  std::string line = message;
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  std::fprintf(stderr, "gumbel: %s\n", line.c_str());
  return status;
}

int run(int argc, char** argv) {
  // A closed pipe and a file over its size limit are write errors that are reported, not the end.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app(
      "Gumbel exports language models as programs that return sampled tokens, and runs them",
      "gumbel");
  app.set_version_flag("--version", "gumbel " GUMBEL_VERSION);
  app.require_subcommand(1);
  gumbel::cli::add_export_command(app);
  gumbel::cli::add_run_command(app);
  gumbel::cli::add_bench_command(app);
  gumbel::cli::add_eval_command(app);
  gumbel::cli::add_tokenize_command(app);
  gumbel::cli::add_selftest_command(app);
  gumbel::cli::add_inspect_command(app);
  gumbel::cli::add_cache_command(app);
  try {
    app.parse(argc, argv);
    if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0)
      gumbel::fail(gumbel::ErrorCode::kIo, "standard output: cannot write: {}", strerror(errno));
  } catch (const CLI::Success& help) {
    const int status = app.exit(help);
    return std::cout.flush() ? status : report("standard output: cannot write", kBadInput);
  } catch (const CLI::ParseError& error) {
    return report(gumbel::cli::explain(app, error).c_str(), kBadUsage);
  } catch (const gumbel::cli::Mismatch&) {
    return kBadInput;
  } catch (const gumbel::cli::Interrupted&) {
    return kInterrupted;
  } catch (const gumbel::cli::EndedBySignal& signal) {
    std::raise(signal.number);  // ends the program as the signal does
    return 128 + signal.number;
  } catch (const gumbel::Error& error) {
    return report(error.what(), kBadInput);
  } catch (const std::bad_alloc&) {
    return report("out of memory", kBadInput);
  } catch (const std::exception& error) {
    return report(error.what(), kBadInput);
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (...) {
    // Of setting up and of reporting an error only allocations can fail.
    std::fputs("gumbel: out of memory\n", stderr);
    return kBadInput;
  }
}
