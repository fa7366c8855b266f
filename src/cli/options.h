// Options that several subcommands share.
#pragma once

#include <gumbel/reply.h>
#include <gumbel/sampling.h>

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace gumbel::cli {

/// Accepts whole numbers from 1 on.
CLI::Validator positive();

/// Accepts whole numbers of 64 bits.
CLI::Validator whole_number();

/// --backend and --threads.
struct DeviceOptions {
  std::string backend = "cpu";
  int threads = 0;
};
void add_device_options(CLI::App& command, DeviceOptions& options);

/// The seed of a run. One of more than 63 bits is taken by its bits.
struct Seed {
  int64_t bits = 0;
  bool drawn = false;  ///< at random, because nobody named one
};

/// A random seed, short enough to type again.
Seed draw_seed();

/// The seed that `text` names: -2^63 to 2^64 - 1, and a random one for "-1". Throws
/// Error(kInvalidArgument), in which `where` stands first, for anything else.
Seed parse_seed(std::string_view text, std::string_view where);

/// --temperature, --top-k, --top-p, --min-p and --seed, each absent unless it was given.
struct SamplingOptions {
  std::optional<float> temperature;
  std::optional<int64_t> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::optional<Seed> seed;
};
void add_sampling_options(CLI::App& command, SamplingOptions& options);

/// --thinking on|off.
CLI::Option* add_thinking_option(CLI::App& command, std::string& name);

/// What "on" and "off" mean; nothing for other names.
std::optional<Thinking> thinking_named(std::string_view name);

/// The parameters that `options` mean for a program: defaults where they are absent, and a random
/// seed. A program that returns logits and does not sample on the host
/// (`can_sample` false) decodes greedily; it refuses the options that need sampling with
/// Error(kUnsupported).
Sampling resolve(const SamplingOptions& options, bool can_sample);

}  // namespace gumbel::cli
