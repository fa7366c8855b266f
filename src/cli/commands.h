// The subcommands of the gumbel program: one file each.
#pragma once

#include <CLI/CLI.hpp>

namespace gumbel::cli {

// Each adds its subcommand, which runs when the command line has been parsed.
void add_export_command(CLI::App& app);
void add_run_command(CLI::App& app);
void add_bench_command(CLI::App& app);
void add_eval_command(CLI::App& app);
void add_tokenize_command(CLI::App& app);
void add_selftest_command(CLI::App& app);
void add_inspect_command(CLI::App& app);
void add_cache_command(CLI::App& app);

/// Thrown by a command that ran as it should and found a mismatch: the program ends with status 1
/// and no further message.
struct Mismatch {};

/// Thrown by a command that Ctrl-C ended, once all is written: the program ends with status 130.
struct Interrupted {};

}  // namespace gumbel::cli
