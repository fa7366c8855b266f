// What stands beside config.json in a Hugging Face folder: end-of-turn ids, the chat template and
// the other files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace gumbel {

/// Ids that generation starts and ends with.
struct GenerationIds {
  int64_t bos_id = -1;           ///< -1: none
  std::vector<int64_t> eos_ids;  ///< ascending, each once
};

/// The ids in `config` (of config.json, and of its text_config) and in generation_config.json of
/// `folder`; eos_token_id may be one id or a list, and all of them end a turn. They may be any
/// integers. Throws Error(kCorruptFile) for other types.
GenerationIds read_generation_ids(const nlohmann::json& config,
                                  const std::filesystem::path& folder);

/// The chat template of `folder`: chat_template.jinja, else chat_template.json, else the
/// chat_template of tokenizer_config.json (of several named ones, "default"), else an empty string.
std::string read_chat_template(const std::filesystem::path& folder);

/// The regular files of `folder`, links to such included, without program files and what
/// interrupted exports left.
std::vector<std::filesystem::path> list_source_files(const std::filesystem::path& folder);

}  // namespace gumbel
