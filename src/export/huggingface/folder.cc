#include "export/huggingface/folder.h"

#include <algorithm>

#include "base/json_fields.h"
#include "base/output_file.h"
#include "export/huggingface/strict_json.h"
#include "program/program_file.h"

namespace gumbel {
namespace {

bool file_exists(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

void add_ids(const JsonFields& fields, GenerationIds& ids) {
  if (const auto bos = fields.integer_or_list("bos_token_id"); bos && !bos->empty())
    ids.bos_id = bos->front();
  if (const auto ends = fields.integer_or_list("eos_token_id"))
    ids.eos_ids.insert(ids.eos_ids.end(), ends->begin(), ends->end());
}

}  // namespace

GenerationIds read_generation_ids(const nlohmann::json& config,
                                  const std::filesystem::path& folder) {
  GenerationIds ids;
  const JsonFields fields(config, (folder / "config.json").string());
  if (const auto text = fields.object("text_config")) add_ids(*text, ids);
  add_ids(fields, ids);
  if (const auto path = folder / "generation_config.json"; file_exists(path)) {
    const nlohmann::json generation = read_strict_json(path);
    add_ids(JsonFields(generation, path.string()), ids);
  }
  std::sort(ids.eos_ids.begin(), ids.eos_ids.end());
  ids.eos_ids.erase(std::unique(ids.eos_ids.begin(), ids.eos_ids.end()), ids.eos_ids.end());
  return ids;
}

std::string read_chat_template(const std::filesystem::path& folder) {
  if (const auto path = folder / "chat_template.jinja"; file_exists(path))
    return read_text_file(path);
  for (const char* name : {"chat_template.json", "tokenizer_config.json"}) {
    const auto path = folder / name;
    if (!file_exists(path)) continue;
    const nlohmann::json object = read_strict_json(path);
    const JsonFields fields(object, path.string());
    const nlohmann::json* value = fields.find("chat_template");
    if (value == nullptr) continue;
    if (!value->is_array()) return fields.string("chat_template").value();
    for (const nlohmann::json& named : *value) {
      const JsonFields entry(named, path.string() + ": chat_template");
      if (entry.string("name") == "default") return entry.string("template").value_or("");
    }
  }
  return "";
}

std::vector<std::filesystem::path> list_source_files(const std::filesystem::path& folder) {
  const std::string temporary = OutputFile::temporary_path({}).string();
  std::vector<std::filesystem::path> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::filesystem::path& path = entry.path();
    if (entry.is_regular_file(ignored) && !path.string().ends_with(temporary) &&
        !begins_as_program(path))
      files.push_back(path);
  }
  return files;
}

}  // namespace gumbel
