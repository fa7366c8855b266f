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

/// --temperature, --top-k, --top-p, --min-p and --seed, each absent unless it was given.
struct SamplingOptions {
  std::optional<float> temperature;
  std::optional<int64_t> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::optional<int64_t> seed;
};
void add_sampling_options(CLI::App& command, SamplingOptions& options);

/// What "on" and "off" mean; nothing for other names.
std::optional<Thinking> thinking_named(std::string_view name);

/// `seed`, or a random one for -1.
int64_t seed_or_random(int64_t seed);

/// The parameters that `options` mean for a program: defaults where they are absent, a random seed
/// where the seed is absent or -1. A program that returns logits and does not sample on the host
/// (`can_sample` false) decodes greedily; it refuses the options that need sampling with
/// Error(kUnsupported).
Sampling resolve(const SamplingOptions& options, bool can_sample);

}  // namespace gumbel::cli
