#include "export/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <utility>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/quote.h"
#include "export/builtin_configs.h"
#include "export/chat_template_check.h"
#include "export/gguf/checkpoint.h"
#include "export/gguf/config.h"
#include "export/gguf/file.h"
#include "export/gguf/tensor_names.h"
#include "export/gguf/tokenizer_keys.h"
#include "export/huggingface/config.h"
#include "export/huggingface/folder.h"
#include "export/huggingface/safetensors_checkpoint.h"
#include "export/huggingface/strict_json.h"
#include "export/random_checkpoint.h"
#include "export/verify_parts.h"
#include "text/tokenizer_json.h"

namespace gumbel {
namespace {

namespace fs = std::filesystem;

bool file_exists(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::string summary(const std::map<std::string, int>& tensors_by_type) {
  std::string text;
  for (const auto& [type, count] : tensors_by_type)
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", count, type);
  return text;
}

/// Takes over what the tokenizer knows, and checks every id against the vocabulary.
void finish(ImportedModel& model) {
  check_chat_template(model);
  const int64_t vocab = model.config.vocab_size;
  if (model.tokenizer) {
    const TokenizerDefinition& tokenizer = *model.tokenizer;
    if (static_cast<int64_t>(tokenizer.tokens.size()) > vocab)
      fail(ErrorCode::kCorruptFile, "{}: expected a tokenizer of at most {} tokens, got {}",
           model.source_name, vocab, tokenizer.tokens.size());
    if (tokenizer.bos_id >= 0) model.bos_id = tokenizer.bos_id;
    model.eos_ids.insert(model.eos_ids.end(), tokenizer.end_ids.begin(), tokenizer.end_ids.end());
  }
  std::vector<int64_t>& ids = model.eos_ids;
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  if (!ids.empty() && (ids.front() < 0 || ids.back() >= vocab))
    fail(ErrorCode::kCorruptFile, "{}: expected end-of-turn ids of 0 to {}, got {}",
         model.source_name, vocab - 1, ids.front() < 0 ? ids.front() : ids.back());
  if (model.bos_id < -1 || model.bos_id >= vocab)
    fail(ErrorCode::kCorruptFile, "{}: expected a BOS id of 0 to {}, got {}", model.source_name,
         vocab - 1, model.bos_id);
}

ImportedModel import_gguf(const fs::path& path) {
  const auto file = std::make_shared<const GgufFile>(path);
  ImportedModel model;
  model.source_name = file->name();
  model.format = "GGUF";
  model.config = read_gguf_config(*file);
  model.weights = gguf_checkpoint(file, model.config);
  verify_parts(*model.weights, model.config, model.source_name);
  model.tokenizer = read_gguf_tokenizer(*file);
  model.chat_template = read_gguf_chat_template(*file);
  std::map<std::string, int> types;
  int skipped = 0;
  for (const GgufTensor& tensor : file->tensors()) {
    if (is_prediction_tensor(tensor.name, model.config)) {
      ++skipped;
      continue;
    }
    ++types[std::string(traits(tensor.type).name)];
  }
  if (skipped > 0)
    model.notes.push_back(fmt::format("skipped {} multi-token prediction tensors", skipped));
  model.weight_summary = summary(types);
  return model;
}

ImportedModel import_folder(const fs::path& folder) {
  const fs::path config_path = folder / "config.json";
  if (!file_exists(config_path))
    fail(ErrorCode::kNotFound, "{}: expected a config.json in the folder", folder.string());
  ImportedModel model;
  std::error_code ignored;
  model.source_name = fs::weakly_canonical(folder, ignored).filename().string();
  model.format = "Hugging Face";
  const nlohmann::json config = read_strict_json(config_path);
  model.config = read_hf_config(config, config_path.string());
  const GenerationIds ids = read_generation_ids(config, folder);
  model.bos_id = ids.bos_id;
  model.eos_ids = ids.eos_ids;
  model.chat_template = read_chat_template(folder);
  if (const fs::path path = folder / "tokenizer.json"; file_exists(path)) {
    const fs::path beside = folder / "tokenizer_config.json";
    const std::string text = read_text_file(path, size_t{1} << 28);
    const std::string beside_text = file_exists(beside) ? read_text_file(beside) : "";
    model.tokenizer =
        with_file_name(model.source_name, [&] { return tokenizer_from_json(text, beside_text); });
  }
  SafetensorsFile file = SafetensorsFile::open_folder(folder);
  std::map<std::string, int> types;
  std::map<std::string, int> skipped;
  for (const auto& [name, tensor] : file.tensors()) {
    if (const std::string_view part = skipped_part(name); !part.empty()) {
      ++skipped[std::string(part)];
      continue;
    }
    const auto type = safetensors_weight_type(tensor.dtype);
    ++types[type ? std::string(traits(*type).name) : tensor.dtype];
  }
  for (const auto& [part, count] : skipped)
    model.notes.push_back(fmt::format("skipped {} {} tensors", count, part));
  model.weight_summary = summary(types);
  model.weights = safetensors_checkpoint(std::move(file), model.config, model.source_name);
  verify_parts(*model.weights, model.config, model.source_name);
  return model;
}

// `name` is that of a configuration of this project's, or the path of a file.
ImportedModel import_random(const std::string& name) {
  ImportedModel model;
  model.format = "synthetic";
  model.weight_summary = "bf16";
  model.weights = random_checkpoint();
  std::string known;
  for (const BuiltinConfig& builtin : builtin_configs()) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", builtin.name);
    if (builtin.name != name || file_exists(name)) continue;
    model.source_name = "random:" + name;
    model.config = read_hf_config(nlohmann::json::parse(builtin.json), builtin.name);
    return model;
  }
  const fs::path path(name);
  if (!file_exists(path))
    fail(ErrorCode::kNotFound,
         "{}: no such file; expected random: and the path of a config.json or one of {}", name,
         known);
  model.source_name = "random:" + path.filename().string();
  model.config = read_hf_config(read_strict_json(path), path.string());
  return model;
}

bool has_gguf_magic(const fs::path& path) {
  const MappedFile file(path);
  return file.bytes().size() >= 4 && std::memcmp(file.bytes().data(), "GGUF", 4) == 0;
}

}  // namespace

ImportedModel import_model(std::string_view source) {
  constexpr std::string_view kRandom = "random:";
  constexpr std::string_view kAccepted =
      "a GGUF file, a folder with config.json and safetensors, or random:config.json";
  ImportedModel model;
  const fs::path path(source);
  std::error_code ignored;
  if (source.starts_with(kRandom)) {
    model = import_random(std::string(source.substr(kRandom.size())));
  } else if (fs::is_directory(path, ignored)) {
    model = import_folder(path);
  } else if (!file_exists(path)) {
    fail(ErrorCode::kNotFound, "{}: no such file or folder; expected {}", quote(source), kAccepted);
  } else if (has_gguf_magic(path)) {
    model = import_gguf(path);
  } else {
    fail(ErrorCode::kInvalidArgument, "{}: expected {}", quote(source), kAccepted);
  }
  finish(model);
  return model;
}

}  // namespace gumbel
