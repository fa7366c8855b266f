#include "engine/tiny_programs.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <random>

#include "program/program_file.h"
#include "runtime/backend.h"
#include "text/byte_spelling.h"

namespace gumbel::test {
namespace {

using nlohmann::json;

std::string tiny_tokenizer_json() {
  json vocabulary = json::object();
  for (int byte = 0; byte < 256; ++byte)
    vocabulary[spelling_of_bytes(std::string(1, static_cast<char>(byte)))] = byte;
  json merges = json::array();
  int64_t next = 256;
  const std::vector<std::pair<std::string, std::string>> pairs = {
      {"h", "e"}, {"l", "l"}, {"he", "ll"}, {"hell", "o"}, {"o", "k"}, {"u", "s"}};
  for (const auto& [left, right] : pairs) {
    merges.push_back({left, right});
    vocabulary[left + right] = next++;
  }
  json added = json::array();
  for (const char* name : {"<|im_start|>", "<|im_end|>"})
    added.push_back({{"id", next++}, {"content", name}, {"special", true}});
  EXPECT_EQ(next, kTinyTokens);
  const json tokenizer = {
      {"version", "1.0"},
      {"added_tokens", added},
      {"normalizer", nullptr},
      {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
      {"post_processor", nullptr},
      {"decoder", {{"type", "ByteLevel"}}},
      {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", merges}}}};
  return tokenizer.dump();
}

constexpr const char* kChatMl =
    "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + "
    "'<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' "
    "}}{% endif %}";

}  // namespace

std::filesystem::path checkpoint_path(const std::string& model) {
  return data_path("models/" + model);
}

std::filesystem::path write_tiny_folder(const std::filesystem::path& parent,
                                        const std::string& model, bool chat, int64_t positions) {
  const std::filesystem::path folder =
      parent / (model + (chat ? "-chat" : "-text") + (positions == 256 ? "" : "-long"));
  std::filesystem::create_directories(folder);
  json config = json::parse(read_file(checkpoint_path(model) / "config.json"));
  config["max_position_embeddings"] = positions;
  std::ofstream(folder / "config.json") << config;
  std::filesystem::copy_file(checkpoint_path(model) / "model.safetensors",
                             folder / "model.safetensors");
  std::ofstream(folder / "tokenizer.json") << tiny_tokenizer_json();
  if (chat) std::ofstream(folder / "chat_template.jinja") << kChatMl;
  return folder;
}

std::filesystem::path export_to(const TemporaryFolder& folder, const std::string& name,
                                const std::string& source, const ExportOptions& options) {
  const std::filesystem::path path = folder.path() / (name + ".gumbel");
  export_program(import_model(source), options, *make_backend("cpu", 1), path);
  return path;
}

std::filesystem::path edited(const TemporaryFolder& folder, const std::string& name,
                             const std::filesystem::path& program,
                             const std::function<void(Program&)>& edit) {
  const std::filesystem::path path = folder.path() / (name + ".gumbel");
  const ProgramFile source(program);
  Program copy = source.program();
  edit(copy);
  ProgramWriter writer(path, std::move(copy));
  for (size_t i = 0; i < source.program().weights.size(); ++i)
    writer.append(source.weight_bytes(i));
  writer.finish();
  return path;
}

std::filesystem::path with_chunks(const TemporaryFolder& folder, const std::filesystem::path& path,
                                  int64_t min_chunk, int64_t max_chunk) {
  const std::string name =
      path.stem().string() + "-" + std::to_string(min_chunk) + "-" + std::to_string(max_chunk);
  return edited(folder, name, path, [&](Program& program) {
    program.constants["get_min_prefill_chunk"] = {min_chunk};
    program.constants["get_max_prefill_chunk"] = {max_chunk};
  });
}

std::string long_context_source(const TemporaryFolder& folder, int64_t positions) {
  json config = json::parse(read_file(checkpoint_path("qwen3") / "config.json"));
  config["max_position_embeddings"] = positions;
  return "random:" + folder.write("long.json", config.dump()).string();
}

std::vector<int64_t> some_tokens(size_t count, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> tokens(count);
  for (int64_t& token : tokens) token = static_cast<int64_t>(random() % kTinyVocab);
  return tokens;
}

std::vector<int64_t> drawn(Session& session, const std::vector<int64_t>& prompt,
                           const Sampling& sampling, size_t count) {
  std::vector<int64_t> ids = {session.prefill(prompt, sampling).id};
  while (ids.size() < count && session.remaining() > 0) ids.push_back(session.decode(sampling).id);
  return ids;
}

std::vector<int64_t> drawn(Engine& engine, const std::vector<int64_t>& prompt,
                           const Sampling& sampling, size_t count) {
  Session session = engine.create_session();
  return drawn(session, prompt, sampling, count);
}

}  // namespace gumbel::test
