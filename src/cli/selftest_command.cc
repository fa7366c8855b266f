// gumbel selftest: does this machine draw the contract's tokens?
#include <fmt/format.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/checksum.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/sampling_vectors.h"
#include "engine/host_sampler.h"
#include "runtime/backend.h"

namespace gumbel::cli {
namespace {

// Draws by the backend under test, sized anew where the vocabulary changes.
class BackendSampler {
 public:
  explicit BackendSampler(const DeviceOptions& device)
      : backend_(make_backend(device.backend, device.threads)) {}

  int64_t draw(std::vector<float>& logits, const SamplingParameters& parameters) {
    const auto vocab = static_cast<int64_t>(logits.size());
    if (vocab != vocab_) sampler_ = std::make_unique<HostSampler>(*backend_, vocab);
    vocab_ = vocab;
    const Tensor row{DataType::kF32, 2, {1, vocab}, reinterpret_cast<std::byte*>(logits.data())};
    return sampler_->draw(row, parameters);
  }

 private:
  std::unique_ptr<Backend> backend_;
  std::unique_ptr<HostSampler> sampler_;
  int64_t vocab_ = 0;
};

[[noreturn]] void report_mismatch(const std::string& name, const char* what, int64_t expected,
                                  int64_t got) {
  fmt::print("{}: {}: expected {}, got {}\n", name, what, expected, got);
  throw Mismatch{};
}

void check_vectors(const std::string& path, BackendSampler& backend) {
  const nlohmann::json file = read_sampling_vectors(path);
  const size_t count = file["cases"].size();
  for (size_t i = 0; i < count; ++i) {
    SamplingVector vector = sampling_vector(file, i);
    const Draw plain = draw(vector.logits, vector.parameters);
    const Draw& expected = vector.expected;
    if (plain.token != expected.token)
      report_mismatch(vector.name, "token", expected.token, plain.token);
    if (plain.score != expected.score)
      report_mismatch(vector.name, "score", expected.score, plain.score);
    if (plain.kept != expected.kept)
      report_mismatch(vector.name, "kept", expected.kept, plain.kept);
    // A host sampler, like an engine, draws from stream 0.
    if (vector.parameters.stream != 0) continue;
    const int64_t token = backend.draw(vector.logits, vector.parameters);
    if (token != expected.token)
      report_mismatch(vector.name, "token of the backend", expected.token, token);
  }
  fmt::print("{} stored answers equal\n", count);
}

// Calls visit(name, logits, parameters) for draws at many settings from logits that follow a
// recipe.
template <typename Visit>
void for_each_built_in_draw(const Visit& visit) {
  constexpr int64_t kVocab = 32003;
  constexpr int kRows = 8;
  constexpr int kDraws = 40;
  constexpr SamplingParameters kSettings[] = {
      {.temperature = 0.0f},
      {.temperature = 1.0f},
      {.temperature = 0.8f, .top_k = 64, .top_p = 0.95f},
      {.temperature = 0.8f, .top_p = 0.95f},
      {.temperature = 2.0f, .top_p = 0.5f, .min_p = 0.05f},
      {.temperature = 0.3f, .min_p = 0.1f},
  };
  for (int row = 0; row < kRows; ++row) {
    std::vector<float> logits =
        recipe_logits(kVocab, static_cast<uint64_t>(row), 1 << (row % 3), 3.0f + 8.0f * row);
    for (SamplingParameters parameters : kSettings) {
      for (int position = 0; position < kDraws; ++position) {
        parameters.seed = static_cast<uint64_t>(row) << 32 | 7u;
        parameters.position = static_cast<uint32_t>(position);
        visit(fmt::format("row {}, position {}", row, position), logits, parameters);
      }
    }
  }
}

// Without a file. The digest of the tokens was made by reference.py, so it tells a wrong
// specification as well as a wrong backend; the plain sampler, which is slow, only says where.
void check_built_in(BackendSampler& backend) {
  constexpr uint64_t kDigest = 0xAD7EEB1CE9C2DAC1;
  std::vector<int64_t> tokens;
  for_each_built_in_draw(
      [&](const std::string&, std::vector<float>& logits, const SamplingParameters& parameters) {
        tokens.push_back(backend.draw(logits, parameters));
      });
  const uint64_t digest = checksum_of(std::as_bytes(std::span(tokens)));
  if (digest == kDigest) {
    fmt::print("{} draws are as the reference drew them\n", tokens.size());
    return;
  }
  size_t i = 0;
  for_each_built_in_draw([&](const std::string& name, std::vector<float>& logits,
                             const SamplingParameters& parameters) {
    const int64_t expected = sample(logits, parameters);
    if (tokens[i] != expected) report_mismatch(name, "token of the backend", expected, tokens[i]);
    ++i;
  });
  fmt::print("digest of {} tokens: expected {:016x}, got {:016x}\n", tokens.size(), kDigest,
             digest);
  throw Mismatch{};
}

}  // namespace

void add_selftest_command(CLI::App& app) {
  struct Options {
    std::string vectors;
    DeviceOptions device;
  };
  auto options = std::make_shared<Options>();
  CLI::App* sub =
      app.add_subcommand("selftest", "Check that this machine draws the contract's tokens");
  const CLI::Option* vectors =
      sub->add_option("--vectors", options->vectors, "Stored answers (vectors.json)");
  add_device_options(*sub, options->device);
  sub->callback([options, vectors] {
    BackendSampler backend(options->device);
    if (vectors->count() == 0)
      check_built_in(backend);
    else
      check_vectors(options->vectors, backend);
  });
}

}  // namespace gumbel::cli
