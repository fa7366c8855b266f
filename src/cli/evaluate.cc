#include "cli/evaluate.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <span>

#include "base/checksum.h"
#include "base/error.h"
#include "export/huggingface/safetensors_file.h"
#include "program/program_file.h"
#include "runtime/executor.h"
#include "runtime/weights.h"

namespace gumbel::cli {
namespace {

constexpr size_t kStoredTop = 32;

size_t best_token(std::span<const float> logits) {
  return static_cast<size_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

// log of the sum of e^x, in float64.
double log_sum_exp(std::span<const float> logits) {
  const double largest = logits[best_token(logits)];
  double sum = 0;
  for (const float x : logits) sum += std::exp(static_cast<double>(x) - largest);
  return largest + std::log(sum);
}

// A program whose methods are called with tokens and consecutive positions.
class LogitsProgram {
 public:
  LogitsProgram(const std::filesystem::path& path, const DeviceOptions& device, int64_t chunk)
      : file_(path),
        backend_(make_backend(device.backend, device.threads)),
        weights_(file_, *backend_),
        state_(file_.program(), 1) {
    const Program& program = file_.program();
    const Method* all = program.method("forward_all");
    const Method* last = program.method("forward");
    if (program.constant("use_sampling") != 0 || all == nullptr || last == nullptr)
      fail(ErrorCode::kUnsupported,
           "{}: expected a program that returns logits (exported without "
           "--sample)",
           path.string());
    const int64_t most = program.constant("get_max_prefill_chunk");
    const int64_t least = program.constant("get_min_prefill_chunk");
    chunk_ = chunk == 0 ? most : std::clamp(chunk, least, most);
    forward_all_ = std::make_unique<Executor>(program, *all, weights_.all(), *backend_, 1, chunk_);
    forward_ = std::make_unique<Executor>(program, *last, weights_.all(), *backend_, 1, chunk_);
  }

  void reset() { state_.reset(); }

  // Calls visit(position, logits) for every position of `tokens`, fed from where the state is.
  template <typename Visit>
  void all_logits(std::span<const int64_t> tokens, const Visit& visit) {
    for_each_chunk(*forward_all_, tokens, [&](const Tensor& logits, int64_t first) {
      for (int64_t t = 0; t < logits.dims[1]; ++t)
        visit(first + t, std::span(logits.as<const float>() + t * logits.last(),
                                   static_cast<size_t>(logits.last())));
    });
  }

  // The logits after the last of `tokens`.
  std::span<const float> last_logits(std::span<const int64_t> tokens) {
    std::span<const float> last;
    for_each_chunk(*forward_, tokens, [&](const Tensor& logits, int64_t) {
      last = {logits.as<const float>(), static_cast<size_t>(logits.last())};
    });
    return last;
  }

 private:
  template <typename Visit>
  void for_each_chunk(Executor& executor, std::span<const int64_t> tokens, const Visit& visit) {
    while (!tokens.empty()) {
      const auto count = std::min(tokens.size(), static_cast<size_t>(chunk_));
      const int64_t first = state_.length(0);
      std::vector<int64_t> positions(count);
      std::iota(positions.begin(), positions.end(), first);
      const Tensor inputs[] = {as_row(tokens.first(count)), as_row(positions)};
      visit(executor.run(inputs, &state_)[0], first);
      tokens = tokens.subspan(count);
    }
  }

  static Tensor as_row(std::span<const int64_t> numbers) {
    return {DataType::kI64,
            2,
            {1, static_cast<int64_t>(numbers.size())},
            reinterpret_cast<std::byte*>(const_cast<int64_t*>(numbers.data()))};
  }

  ProgramFile file_;
  std::unique_ptr<Backend> backend_;
  Weights weights_;
  SessionState state_;
  int64_t chunk_ = 0;
  std::unique_ptr<Executor> forward_all_;
  std::unique_ptr<Executor> forward_;
};

// The stored answers of one text.
struct Answers {
  std::vector<int64_t> tokens;
  std::vector<float> logits;  // [L, V], or empty
  std::vector<int64_t> greedy;
  std::vector<float> nll;           // [L - 1], or empty
  std::vector<int64_t> top_ids;     // [L, 32], or empty
  std::vector<float> top_logprobs;  // [L, 32]
};

Answers read_answers(const SafetensorsFile& file, const std::string& prefix) {
  Answers answers;
  answers.tokens = file.read_i64(prefix + "tokens");
  const size_t length = answers.tokens.size();
  if (file.find(prefix + "greedy") != nullptr) answers.greedy = file.read_i64(prefix + "greedy");
  if (file.find(prefix + "logits") != nullptr) answers.logits = file.read_f32(prefix + "logits");
  if (file.find(prefix + "top_ids") != nullptr) {
    answers.nll = file.read_f32(prefix + "nll");
    answers.top_ids = file.read_i64(prefix + "top_ids");
    answers.top_logprobs = file.read_f32(prefix + "top_logprobs");
    if (answers.nll.size() + 1 != length || answers.top_ids.size() != length * kStoredTop ||
        answers.top_logprobs.size() != length * kStoredTop)
      fail(ErrorCode::kCorruptFile, "answers {}: expected {} values of each position", prefix,
           kStoredTop);
  }
  if (length == 0 || (answers.logits.empty() && answers.top_ids.empty()))
    fail(ErrorCode::kCorruptFile, "answers {}: expected tokens with logits or top_ids", prefix);
  return answers;
}

void require_token(int64_t id, int64_t vocab) {
  if (id < 0 || id >= vocab)
    fail(ErrorCode::kCorruptFile, "answers: expected token ids from 0 to {}, got {}", vocab - 1,
         id);
}

// Compares one position with the 32 stored best.
class TopComparison {
 public:
  TopComparison(const Answers& answers) : answers_(answers) {}

  void add(size_t position, std::span<const float> logits) {
    const auto vocab = static_cast<int64_t>(logits.size());
    const double log_sum = log_sum_exp(logits);
    const int64_t* ids = answers_.top_ids.data() + position * kStoredTop;
    const float* logprobs = answers_.top_logprobs.data() + position * kStoredTop;
    for (size_t i = 0; i < kStoredTop; ++i) {
      require_token(ids[i], vocab);
      const double p = logprobs[i];
      const double q = static_cast<double>(logits[static_cast<size_t>(ids[i])]) - log_sum;
      kl_ += std::exp(p) * (p - q);
    }
    agreed_ += best_token(logits) == static_cast<size_t>(ids[0]) ? 1 : 0;
    if (position + 1 < answers_.tokens.size()) {
      const int64_t next = answers_.tokens[position + 1];
      require_token(next, vocab);
      nll_ += log_sum - static_cast<double>(logits[static_cast<size_t>(next)]);
    }
  }

  void finish(Evaluation& evaluation) const {
    const auto length = static_cast<double>(answers_.tokens.size());
    evaluation.mean_kl.push_back(kl_ / length);
    evaluation.agreement.push_back(agreed_ / length);
    evaluation.perplexity.push_back(std::exp(nll_ / std::max(length - 1, 1.0)));
  }

 private:
  const Answers& answers_;
  double kl_ = 0;
  double agreed_ = 0;
  double nll_ = 0;
};

// KL(p || q) of the distributions that two rows of logits make.
double kl_divergence(std::span<const float> p_logits, std::span<const float> q_logits) {
  const double p_sum = log_sum_exp(p_logits);
  const double q_sum = log_sum_exp(q_logits);
  double kl = 0;
  for (size_t i = 0; i < p_logits.size(); ++i) {
    const double p = static_cast<double>(p_logits[i]) - p_sum;
    kl += std::exp(p) * (p - (static_cast<double>(q_logits[i]) - q_sum));
  }
  return kl;
}

bool greedy_matches(LogitsProgram& program, const Answers& answers) {
  program.reset();
  std::span<const float> logits = program.last_logits(answers.tokens);
  for (const int64_t expected : answers.greedy) {
    if (best_token(logits) != static_cast<size_t>(expected)) return false;
    logits = program.last_logits({&expected, 1});
  }
  return true;
}

}  // namespace

Evaluation evaluate(const std::filesystem::path& program_path,
                    const std::filesystem::path& answers_path, const DeviceOptions& device,
                    int64_t chunk) {
  const SafetensorsFile file(answers_path);
  LogitsProgram program(program_path, device, chunk);
  Evaluation evaluation;
  Checksum checksum;
  for (int text = 0; file.find(fmt::format("{}.tokens", text)) != nullptr; ++text) {
    const Answers answers = read_answers(file, fmt::format("{}.", text));
    TopComparison top(answers);
    double kl = 0;
    program.reset();
    program.all_logits(answers.tokens, [&](int64_t at, std::span<const float> logits) {
      checksum.add(std::as_bytes(logits));
      const auto position = static_cast<size_t>(at);
      if (!answers.top_ids.empty()) top.add(position, logits);
      if (answers.logits.empty()) return;
      if (answers.logits.size() != answers.tokens.size() * logits.size())
        fail(ErrorCode::kCorruptFile, "answers {}.logits: expected {} a position, got {} in all",
             text, logits.size(), answers.logits.size());
      const float* expected = answers.logits.data() + position * logits.size();
      kl += kl_divergence({expected, logits.size()}, logits);
      for (size_t i = 0; i < logits.size(); ++i) {
        const double difference =
            std::abs(static_cast<double>(logits[i]) - static_cast<double>(expected[i]));
        // A NaN is as far off as can be.
        if (!(difference <= evaluation.max_abs_diff))
          evaluation.max_abs_diff = std::isnan(difference) ? INFINITY : difference;
      }
    });
    if (!answers.top_ids.empty()) {
      evaluation.has_top = true;
      top.finish(evaluation);
    }
    if (!answers.logits.empty()) {
      evaluation.has_logits = true;
      evaluation.full_kl.push_back(kl / static_cast<double>(answers.tokens.size()));
      evaluation.greedy_equal &= greedy_matches(program, answers);
    }
  }
  if (!evaluation.has_logits && !evaluation.has_top)
    fail(ErrorCode::kCorruptFile, "{}: expected answers from text 0 on (0.tokens, ...)",
         answers_path.string());
  evaluation.logits_hash = checksum.value();
  return evaluation;
}

}  // namespace gumbel::cli
