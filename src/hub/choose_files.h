// Which files of a repository make up a model.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "hub/listing.h"

namespace gumbel {

/// What to fetch of a model.
struct FileChoice {
  /// All of the files, in the order of their names, which are different; of a folder of shards,
  /// only the index and what stands beside it.
  std::vector<HubFile> files;
  /// The GGUF file to open, its first part where it is split; empty for a folder.
  std::string gguf;
  /// The index that says which shards belong to the folder; empty where there is none.
  std::string index;
};

/// Chooses from `listing`: the GGUF file that `name` names, with all its parts where it is split;
/// else config.json, model.safetensors or the index of its shards, and the files of tokenizer, chat
/// template and generation; else the only GGUF file. Throws Error(kNotFound), listing what there
/// is, where that leaves nothing or several.
FileChoice choose_files(const std::vector<HubFile>& listing, const ModelName& name);

/// The files that `index` (model.safetensors.index.json) names as shards, taken from `listing`.
/// Throws Error(kCorruptFile) or kNotFound, beginning with `where`.
std::vector<HubFile> choose_shards(std::string_view index, const std::vector<HubFile>& listing,
                                   const std::string& where);

}  // namespace gumbel
