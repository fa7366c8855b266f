#include "cli/options.h"

#include <charconv>
#include <random>

#include "base/error.h"
#include "base/quote.h"

namespace gumbel::cli {
namespace {

// Accepts whole numbers of 64 bits from `least` on. CLI11 takes a larger number for the largest
// there is, and no digits at all for an option that was not given.
CLI::Validator whole_number_from(int64_t least, const std::string& expected) {
  return CLI::Validator(
      [least, expected](std::string& text) {
        int64_t number = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
        const bool fits = error == std::errc() && end == text.data() + text.size();
        return fits && number >= least ? std::string()
                                       : "expected " + expected + ", got " + quote(text);
      },
      "");
}

// Accepts what is a number and nothing else. Which numbers make sense is known elsewhere.
CLI::Validator number() {
  return CLI::Validator(
      [](std::string& text) {
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool whole = error == std::errc() && end == text.data() + text.size();
        return whole ? std::string() : "expected a number, got " + quote(text);
      },
      "");
}

}  // namespace

CLI::Validator positive() { return whole_number_from(1, "a whole number from 1 on"); }

CLI::Validator whole_number() { return whole_number_from(INT64_MIN, "a whole number of 64 bits"); }

void add_device_options(CLI::App& command, DeviceOptions& options) {
  command.add_option("--backend", options.backend, "cpu or reference")->capture_default_str();
  command.add_option("--threads", options.threads, "Threads (0: the physical cores)")
      ->check(whole_number())
      ->capture_default_str();
}

void add_sampling_options(CLI::App& command, SamplingOptions& options) {
  command
      .add_option("--temperature", options.temperature,
                  "0 to 2; 0 takes the best token (default 0.8)")
      ->check(number());
  command.add_option("--top-k", options.top_k, "Keep the K best tokens (default 0: all)")
      ->check(whole_number());
  command
      .add_option("--top-p", options.top_p,
                  "Keep the fewest best tokens that hold this probability (default 1: all)")
      ->check(number());
  command
      .add_option("--min-p", options.min_p,
                  "Keep tokens this likely relative to the best one (default 0: all)")
      ->check(number());
  command.add_option_function<std::string>(
      "--seed",
      [&options](const std::string& text) {
        try {
          options.seed = parse_seed(text, "--seed");
        } catch (const Error& error) {
          throw CLI::ValidationError(error.what());
        }
      },
      "Seed of the draws; -1, and by default, a random one that is printed");
}

CLI::Option* add_thinking_option(CLI::App& command, std::string& name) {
  return command
      .add_option("--thinking", name,
                  "on or off: whether the model thinks before it answers; the thought goes to "
                  "standard error (default: what its chat template does)")
      ->check(CLI::IsMember({"on", "off"}));
}

std::optional<Thinking> thinking_named(std::string_view name) {
  if (name == "on") return Thinking::kOn;
  if (name == "off") return Thinking::kOff;
  return {};
}

Seed draw_seed() {
  std::random_device random;
  return {static_cast<int64_t>(random() & 0x7FFFFFFFu), true};
}

Seed parse_seed(std::string_view text, std::string_view where) {
  if (text == "-1") return draw_seed();
  const char* end = text.data() + text.size();
  uint64_t bits = 0;
  if (const auto read = std::from_chars(text.data(), end, bits);
      read.ec == std::errc() && read.ptr == end)
    return {static_cast<int64_t>(bits), false};
  int64_t number = 0;
  if (const auto read = std::from_chars(text.data(), end, number);
      read.ec == std::errc() && read.ptr == end)
    return {number, false};
  fail(ErrorCode::kInvalidArgument, "{}: expected a whole number from -2^63 to 2^64 - 1, got {}",
       where, quote(text));
}

Sampling resolve(const SamplingOptions& options, bool can_sample) {
  if (!can_sample) {
    const bool wanted = options.temperature.value_or(0) != 0 || options.top_k || options.top_p ||
                        options.min_p || options.seed;
    if (wanted)
      fail(ErrorCode::kUnsupported,
           "the program returns logits: expected no --temperature, --top-k, --top-p, --min-p or "
           "--seed, or --host-sampling, or a program exported with --sample");
    return {0.0f, 0, 1.0f, 0.0f, 0};
  }
  Sampling sampling;
  sampling.temperature = options.temperature.value_or(sampling.temperature);
  sampling.top_k = options.top_k.value_or(sampling.top_k);
  sampling.top_p = options.top_p.value_or(sampling.top_p);
  sampling.min_p = options.min_p.value_or(sampling.min_p);
  sampling.seed = options.seed.value_or(draw_seed()).bits;
  return sampling;
}

}  // namespace gumbel::cli
