#include <gumbel/engine.h>

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>
#include <utility>

#include "base/error.h"
#include "engine/engine_impl.h"
#include "runtime/session_state.h"

namespace gumbel {
namespace {

bool has_signature(const Method& method, std::span<const Value> inputs,
                   std::span<const Value> outputs) {
  const auto value = [&](int32_t i) { return method.values[static_cast<size_t>(i)]; };
  return std::equal(method.inputs.begin(), method.inputs.end(), inputs.begin(), inputs.end(),
                    [&](const Input& a, const Value& b) { return value(a.value) == b; }) &&
         std::equal(method.outputs.begin(), method.outputs.end(), outputs.begin(), outputs.end(),
                    [&](int32_t a, const Value& b) {
                      return value(a).type == b.type && value(a).shape == b.shape;
                    });
}

// Whether calls count: without a cache, a session would stay at position 0 for ever.
bool keeps_state(const Method& method) {
  return std::any_of(method.nodes.begin(), method.nodes.end(),
                     [](const Node& node) { return stores_state(node.op); });
}

// Throws unless forward and prefill, if there is one, take what an engine feeds: tokens and
// positions, and forward of a program that returns tokens the parameters of the draw.
void check_methods(const Program& program) {
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
  const Method* forward = program.method("forward");
  if (forward == nullptr || !has_signature(*forward, expected, {&output, 1}) ||
      !keeps_state(*forward))
    fail(ErrorCode::kUnsupported,
         "program: expected a method forward(tokens, input_pos{}) that keeps state and "
         "returns {} {}",
         sampling ? ", temperature, top_k, top_p, seed, min_p" : "", name(output.type),
         to_string(output.shape));
  const Method* prefill = program.method("prefill");
  if (prefill != nullptr &&
      (!has_signature(*prefill, std::span(expected).first(2), {}) || !keeps_state(*prefill)))
    fail(ErrorCode::kUnsupported,
         "program: expected prefill(tokens, input_pos) that keeps state and returns nothing");
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

// Export has compiled the template, so that one which is none now was damaged.
ChatTemplate chat_template_of(const Program& program, const Tokenizer& tokenizer) {
  const ThoughtText& thoughts = program.thoughts;
  try {
    return compile_chat_template(program.chat_template, tokenizer,
                                 {.begin = thoughts.begin,
                                  .end = thoughts.end,
                                  .header = thoughts.header,
                                  .anywhere = thoughts.anywhere});
  } catch (const Error& error) {
    fail(ErrorCode::kCorruptFile, "program: {}", error.what());
  }
}

}  // namespace

Engine::Impl::Impl(const std::filesystem::path& path, const EngineOptions& options)
    : file(path),
      backend(make_backend(options.backend, options.threads)),
      weights(file, *backend),
      host_sampling(options.host_sampling),
      info(model_info(file.program())) {
  const Program& program = file.program();
  check_methods(program);
  forward = std::make_unique<Executor>(program, *program.method("forward"), weights.all(), *backend,
                                       1, info.max_prefill_chunk);
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
  if (options.check_weights) file.check_weights();
  // A file that memory cannot hold would push itself out.
  const bool fits = file.file_bytes() < available_memory();
  if (!options.check_weights && weights.are_mapped() && fits) weight_check.emplace(file);
  if (!program.chat_template.empty() && tokenizer) {
    chat_template.emplace(chat_template_of(program, *tokenizer));
    info.has_chat_template = true;
    info.can_think = chat_template->thinks() || chat_template->has_thinking_switch();
  }
}

const Tokenizer& Engine::Impl::text() const {
  if (!tokenizer) fail(ErrorCode::kUnsupported, "the program carries no tokenizer");
  return *tokenizer;
}

const ChatTemplate& Engine::Impl::chat() const {
  if (!chat_template) fail(ErrorCode::kUnsupported, "the program carries no chat template");
  return *chat_template;
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
  const Tokenizer& tokenizer = impl_->text();
  std::vector<int64_t> ids =
      tokenizer.encode(text, parse_control ? ControlTokens::kParse : ControlTokens::kPlain);
  if (tokenizer.adds_bos() && tokenizer.bos_id() >= 0) ids.insert(ids.begin(), tokenizer.bos_id());
  return ids;
}

std::vector<int64_t> Engine::encode_chat(std::span<const Message> messages,
                                         Thinking thinking) const {
  return gumbel::encode_chat(impl_->text(), impl_->chat(), messages,
                             /*add_generation_prompt=*/true, thinking);
}

std::vector<int64_t> Engine::encode_reply(std::string_view user_message, int64_t last,
                                          Thinking thinking) const {
  return gumbel::encode_reply(impl_->text(), impl_->chat(), user_message, last, thinking);
}

std::string Engine::decode(std::span<const int64_t> ids) const {
  // Ids beyond the tokenizer's are padding of the embedding table: they have no text.
  std::vector<int64_t> known;
  for (const int64_t id : ids)
    if (id < impl_->text().vocab_size() || id >= impl_->info.vocab_size) known.push_back(id);
  return impl_->text().decode(known, /*show_control=*/false);
}

}  // namespace gumbel
