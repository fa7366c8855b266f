// gumbel: export models, run them, and check and measure what they draw.
#include <fmt/format.h>
#include <gumbel/error.h>

#include <cstdio>
#include <exception>
#include <new>
#include <string>

#include "cli/commands.h"

namespace {

constexpr int kBadInput = 1;
constexpr int kBadUsage = 2;

// Errors are one line, whatever a message quotes from a hostile file.
int report(const char* message, int status) {
  std::string line = message;
  for (char& c : line)
    if (c == '\n' || c == '\r') c = ' ';
  fmt::print(stderr, "gumbel: {}\n", line);
  return status;
}

}  // namespace

int main(int argc, char** argv) {
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& help) {
    return app.exit(help);
  } catch (const CLI::ParseError& error) {
    return report(error.what(), kBadUsage);
  } catch (const gumbel::cli::Mismatch&) {
    return kBadInput;
  } catch (const gumbel::Error& error) {
    return report(error.what(), kBadInput);
  } catch (const std::bad_alloc&) {
    return report("out of memory", kBadInput);
  } catch (const std::exception& error) {
    return report(error.what(), kBadInput);
  }
  return 0;
}
