#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <exception>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "engine/engine_impl.h"
#include "text/detokenizer.h"

namespace gumbel {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// The one place where the ranges of the parameters stand. Written so that a NaN is refused.
void check_sampling(const Sampling& s, bool can_sample) {
  if (!(s.temperature >= 0 && s.temperature <= 2))
    fail(ErrorCode::kInvalidArgument, "temperature: expected 0 to 2, got {}", s.temperature);
  if (!(s.top_p > 0 && s.top_p <= 1))
    fail(ErrorCode::kInvalidArgument, "top_p: expected above 0 and at most 1, got {}", s.top_p);
  if (!(s.min_p >= 0 && s.min_p < 1))
    fail(ErrorCode::kInvalidArgument, "min_p: expected at least 0 and below 1, got {}", s.min_p);
  if (s.top_k < 0)
    fail(ErrorCode::kInvalidArgument, "top_k: expected at least 0 (0: all), got {}", s.top_k);
  if (can_sample) return;
  if (s.temperature != 0 || s.top_k != 0 || s.top_p != 1 || s.min_p != 0 || s.seed != 0)
    fail(ErrorCode::kUnsupported,
         "the program returns logits: expected temperature 0 without top_k, top_p, min_p and seed, "
         "or host sampling switched on");
}

Tensor vector_of(const int64_t* data, int64_t time) {
  return {DataType::kI64, 2, {1, time}, reinterpret_cast<std::byte*>(const_cast<int64_t*>(data))};
}

template <typename T>
Tensor scalar(T& number, DataType type) {
  return {type, 1, {1}, reinterpret_cast<std::byte*>(&number)};
}

// The text of a token that has one, " ('<image>')": tokenizers may have more tokens than the
// embedding table has rows.
std::string in_parentheses(const std::optional<Tokenizer>& tokenizer, int64_t token) {
  if (!tokenizer || token < 0 || token >= tokenizer->vocab_size()) return "";
  return fmt::format(" ({})", quote(tokenizer->piece(token)));
}

}  // namespace

struct Session::Impl {
  explicit Impl(Engine::Impl& owner) : engine(owner), state(owner.file.program(), 1) {
    if (owner.tokenizer) detokenizer.emplace(*owner.tokenizer);
    feed.reserve(static_cast<size_t>(owner.info.max_sequence_length));
    positions.reserve(static_cast<size_t>(owner.info.max_prefill_chunk));
  }

  // A branch of `other`.
  explicit Impl(const Impl& other)
      : engine(other.engine),
        state(other.state.branch()),
        detokenizer(other.detokenizer),
        last(other.last) {
    feed.reserve(other.feed.capacity());
    positions.reserve(other.positions.capacity());
  }

  Engine::Impl& engine;
  SessionState state;
  std::optional<Detokenizer> detokenizer;
  Statistics statistics;
  int64_t last = -1;          // the last drawn token, not yet fed
  std::vector<int64_t> feed;  // what a call feeds; keeps its memory
  std::vector<int64_t> positions;
  bool failed = false;
  std::atomic<bool> stop_requested = false;

  int64_t position() const { return state.length(0); }
  int64_t max_length() const { return engine.info.max_sequence_length; }

  void check_usable() const {
    if (failed)
      fail(ErrorCode::kFailedState, "the session failed at position {}: expected a reset first",
           position());
  }

  // How many of the `left` tokens the next call takes: as many as fit, but so that the rest is not
  // shorter than the minimum chunk where that can be; what is shorter goes token by token.
  int64_t next_chunk(int64_t left) const {
    const int64_t least = engine.info.min_prefill_chunk;
    const int64_t most = engine.info.max_prefill_chunk;
    if (left <= most) return left < least ? 1 : left;
    const bool leave_least = left - most < least && left - least >= least;
    return leave_least ? left - least : most;
  }

  // Feeds `count` tokens without drawing.
  void run_prefill(const int64_t* tokens, int64_t count) {
    set_positions(count);
    std::array<Tensor, 2> inputs = {vector_of(tokens, count), vector_of(positions.data(), count)};
    engine.prefill->run(inputs, &state);
  }

  // Feeds `count` tokens and draws the next.
  int64_t run_forward(const int64_t* tokens, int64_t count, Sampling s) {
    set_positions(count);
    std::array<Tensor, 7> inputs = {vector_of(tokens, count),
                                    vector_of(positions.data(), count),
                                    scalar(s.temperature, DataType::kF32),
                                    scalar(s.top_k, DataType::kI64),
                                    scalar(s.top_p, DataType::kF32),
                                    scalar(s.seed, DataType::kI64),
                                    scalar(s.min_p, DataType::kF32)};
    if (!engine.info.use_sampling) {
      const Tensor logits = engine.forward->run(std::span(inputs).first(2), &state)[0];
      const auto start = Clock::now();
      const int64_t token = engine.host_sampler->draw(
          logits, {s.temperature, s.top_k, s.top_p, s.min_p, static_cast<uint64_t>(s.seed),
                   static_cast<uint32_t>(position()), 0});
      statistics.sampling_seconds += seconds_since(start);
      return token;
    }
    const double before = engine.forward->sampling_seconds();
    const Tensor token = engine.forward->run(inputs, &state)[0];
    statistics.sampling_seconds += engine.forward->sampling_seconds() - before;
    if (token.type != DataType::kI64 || token.rank != 1 || token.dims[0] != 1)
      fail(ErrorCode::kCorruptFile, "forward: expected a token i64 [1]");
    return *token.as<int64_t>();
  }

  void set_positions(int64_t count) {
    positions.resize(static_cast<size_t>(count));
    std::iota(positions.begin(), positions.end(), position());
  }

  // Feeds `feed` and draws. A stop request ends it before the next chunk.
  Token advance(const Sampling& sampling) {
    const std::lock_guard lock(engine.run_mutex);
    check_weights();
    const auto count = static_cast<int64_t>(feed.size());
    int64_t token = -1;
    for (int64_t done = 0; done < count;) {
      if (stop_requested.exchange(false)) return {-1, "", false, true};
      const int64_t chunk = next_chunk(count - done);
      const int64_t* tokens = feed.data() + done;
      done += chunk;
      try {
        if (done < count && engine.prefill)
          run_prefill(tokens, chunk);
        else
          token = run_forward(tokens, chunk, sampling);
      } catch (...) {
        failed = true;
        throw;
      }
      last = -1;
    }
    check_weights();
    return finish(token);
  }

  // Fails the session where a weight was found damaged: what it has computed may be wrong.
  void check_weights() {
    if (!engine.weight_check) return;
    try {
      engine.weight_check->expect_sound();
    } catch (...) {
      failed = true;
      throw;
    }
  }

  Token finish(int64_t id) {
    if (id < 0 || id >= engine.info.vocab_size) {
      failed = true;
      fail(ErrorCode::kNumeric,
           "position {}: the logits hold a NaN or ban every token, so none can be drawn",
           position());
    }
    last = id;
    Token token;
    token.id = id;
    token.eos = std::count(engine.info.eos_ids.begin(), engine.info.eos_ids.end(), id) > 0;
    token.terminal = token.eos || position() == max_length();
    // Ids beyond the tokenizer's are padding of the embedding table: they have no text.
    if (detokenizer && !token.eos && id < engine.tokenizer->vocab_size())
      token.text = detokenizer->add(id);
    if (detokenizer && token.terminal) token.text += detokenizer->finish();
    return token;
  }
};

Session Engine::create_session() { return Session(std::make_unique<Session::Impl>(*impl_)); }

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

Token Session::prefill(std::span<const int64_t> tokens, const Sampling& sampling) {
  Impl& s = *impl_;
  s.check_usable();
  check_sampling(sampling, s.engine.info.use_sampling || s.engine.host_sampling);
  if (tokens.empty()) fail(ErrorCode::kInvalidArgument, "prefill: expected at least one token");
  for (const int64_t token : tokens)
    if (token < 0 || token >= s.engine.info.vocab_size)
      fail(ErrorCode::kInvalidArgument, "prefill: expected token ids from 0 to {}, got {}{}",
           s.engine.info.vocab_size - 1, token, in_parentheses(s.engine.tokenizer, token));
  const int64_t pending = s.last >= 0 ? 1 : 0;
  const auto count = static_cast<int64_t>(tokens.size()) + pending;
  if (count > remaining())
    fail(ErrorCode::kInvalidArgument,
         "prefill: expected at most {} tokens, what is left of the context of {}, got {}",
         remaining() - pending, s.max_length(), tokens.size());

  const auto start = Clock::now();
  const int64_t before = position();
  s.feed.clear();
  // Bytes of a character that the text before left incomplete do not run into the next answer.
  if (s.detokenizer) s.detokenizer->finish();
  if (pending > 0) s.feed.push_back(s.last);
  s.feed.insert(s.feed.end(), tokens.begin(), tokens.end());
  Token token = s.advance(sampling);
  s.statistics.prefill_tokens += position() - before;
  s.statistics.prefill_seconds += seconds_since(start);
  return token;
}

Token Session::decode(const Sampling& sampling) {
  Impl& s = *impl_;
  s.check_usable();
  check_sampling(sampling, s.engine.info.use_sampling || s.engine.host_sampling);
  if (s.last < 0) fail(ErrorCode::kInvalidArgument, "decode: expected a prefill first");
  if (remaining() == 0)
    fail(ErrorCode::kInvalidArgument, "decode: the context of {} positions is full",
         s.max_length());
  const auto start = Clock::now();
  s.feed.assign(1, s.last);
  Token token = s.advance(sampling);
  if (token.id >= 0) ++s.statistics.decode_tokens;
  s.statistics.decode_seconds += seconds_since(start);
  return token;
}

int64_t Session::position() const { return impl_->position(); }

int64_t Session::last_token() const { return impl_->last; }

int64_t Session::remaining() const { return impl_->max_length() - impl_->position(); }

void Session::stop() { impl_->stop_requested = true; }

void Session::cancel_stop() { impl_->stop_requested = false; }

Session Session::branch() const {
  impl_->check_usable();
  return Session(std::make_unique<Impl>(*impl_));
}

void Session::reset() {
  impl_->state.reset();
  impl_->last = -1;
  impl_->failed = false;
  impl_->stop_requested = false;
  impl_->statistics = {};
  if (impl_->detokenizer) impl_->detokenizer->finish();
}

const Statistics& Session::statistics() const { return impl_->statistics; }

}  // namespace gumbel
