#include <gumbel/engine.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "engine/engine_impl.h"
#include "runtime/session_state.h"
#include "text/chat_format_record.h"

namespace gumbel {
namespace {

// Throws unless forward takes what an engine feeds: tokens and positions, and for a program that
// returns tokens the parameters of the draw.
void check_forward(const Program& program, const Method* forward) {
  std::vector<Value> expected = {{"tokens", DataType::kI64, {kBatch, kTime}},
                                 {"input_pos", DataType::kI64, {kBatch, kTime}}};
  const bool sampling = program.constant("use_sampling") != 0;
  if (sampling) {
    expected.insert(expected.end(), {{"temperature", DataType::kF32, {kPerRow}},
                                     {"top_k", DataType::kI64, {kPerRow}},
                                     {"top_p", DataType::kF32, {kPerRow}},
                                     {"seed", DataType::kI64, {kPerRow}},
                                     {"min_p", DataType::kF32, {kPerRow}}});
  }
  const Value output =
      sampling ? Value{"", DataType::kI64, {kBatch}}
               : Value{"", DataType::kF32, {kBatch, program.constant("get_vocab_size")}};
  bool fits = forward != nullptr && forward->inputs.size() == expected.size() &&
              forward->outputs.size() == 1;
  for (size_t i = 0; fits && i < expected.size(); ++i)
    fits = forward->values[static_cast<size_t>(forward->inputs[i].value)] == expected[i];
  if (fits) {
    const Value& value = forward->values[static_cast<size_t>(forward->outputs[0])];
    fits = value.type == output.type && value.shape == output.shape;
  }
  if (!fits)
    fail(ErrorCode::kUnsupported,
         "program: expected a method forward(tokens, input_pos{}) that returns {} {}",
         sampling ? ", temperature, top_k, top_p, seed, min_p" : "", name(output.type),
         to_string(output.shape));
}

ModelInfo model_info(const Program& program) {
  ModelInfo info;
  info.max_sequence_length = program.constant("get_max_seq_len");
  info.vocab_size = program.constant("get_vocab_size");
  info.layers = program.constant("get_n_layers");
  info.min_prefill_chunk = program.constant("get_min_prefill_chunk");
  info.max_prefill_chunk = program.constant("get_max_prefill_chunk");
  info.use_sampling = program.constant("use_sampling") != 0;
  info.bos_id = program.constant("get_bos_id");
  info.eos_ids = program.constants.at("get_eos_ids");
  info.has_tokenizer = !program.tokenizer.empty();
  info.provenance = program.provenance;
  return info;
}

// Bytes of memory that the system could give to new allocations.
uint64_t available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  uint64_t kibibytes = 0;
  std::string unit;
  while (file >> key >> kibibytes && std::getline(file, unit))
    if (key == "MemAvailable:") return kibibytes << 10;
  return 0;
}

}  // namespace

Engine::Impl::Impl(const std::filesystem::path& path, const EngineOptions& options)
    : file(path),
      backend(make_backend(options.backend, options.threads)),
      weights(file, *backend),
      host_sampling(options.host_sampling),
      info(model_info(file.program())) {
  const Program& program = file.program();
  const Method* method = program.method("forward");
  check_forward(program, method);
  forward = std::make_unique<Executor>(program, *method, weights.all(), *backend, 1,
                                       info.max_prefill_chunk);
  if (const Method* prefill_method = program.method("prefill"))
    prefill = std::make_unique<Executor>(program, *prefill_method, weights.all(), *backend, 1,
                                         info.max_prefill_chunk);
  if (!info.use_sampling) host_sampler.emplace(*backend, info.vocab_size);
  if (info.has_tokenizer) {
    tokenizer.emplace(program.tokenizer);
    if (tokenizer->vocab_size() > info.vocab_size)
      fail(ErrorCode::kCorruptFile, "{}: expected a tokenizer of at most {} tokens, got {}",
           path.string(), info.vocab_size, tokenizer->vocab_size());
  }
  if (!program.chat_format.empty()) {
    chat_format = parse_chat_format(program.chat_format);
    info.chat_format = chat_format->name;
  }
}

const Tokenizer& Engine::Impl::text() const {
  if (!tokenizer) fail(ErrorCode::kUnsupported, "the program carries no tokenizer");
  return *tokenizer;
}

const ChatFormat& Engine::Impl::chat() const {
  if (!chat_format) fail(ErrorCode::kUnsupported, "the program carries no chat format");
  return *chat_format;
}

Engine::Engine(const std::filesystem::path& program, const EngineOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  impl_ = std::make_unique<Impl>(program, options);
  impl_->load_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

Engine::~Engine() = default;
Engine::Engine(Engine&&) noexcept = default;
Engine& Engine::operator=(Engine&&) noexcept = default;

const ModelInfo& Engine::info() const { return impl_->info; }

double Engine::load_seconds() const { return impl_->load_seconds; }

uint64_t Engine::session_bytes() const { return session_state_bytes(impl_->file.program(), 1); }

int64_t Engine::serving_capacity() const {
  return static_cast<int64_t>(available_memory() / std::max<uint64_t>(session_bytes(), 1));
}

std::vector<int64_t> Engine::encode(std::string_view text, bool parse_control) const {
  return impl_->text().encode_prompt(text,
                                     parse_control ? ControlTokens::kParse : ControlTokens::kPlain);
}

std::vector<int64_t> Engine::encode_chat(std::span<const Message> messages) const {
  return gumbel::encode_chat(impl_->text(), impl_->chat(), messages);
}

std::vector<int64_t> Engine::encode_reply(std::string_view user_message, int64_t last) const {
  return gumbel::encode_reply(impl_->text(), impl_->chat(), user_message, last);
}

std::string Engine::decode(std::span<const int64_t> ids) const {
  return impl_->text().decode(ids, /*show_control=*/false);
}

}  // namespace gumbel
