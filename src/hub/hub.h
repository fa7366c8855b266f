// Fetching models from a Hugging Face hub.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

#include "hub/model_name.h"
#include "hub/retry.h"

namespace gumbel {

/// How far a fetch is, in bytes of all its files.
struct FetchProgress {
  uint64_t present = 0;  ///< that are on the disk
  uint64_t total = 0;    ///< 0 until it is known
};

struct HubOptions {
  std::string endpoint = "https://huggingface.co";
  std::string token;  ///< empty: none
  RetryPolicy retry;
  /// Called at least once a second; what it throws ends the fetch, which the next one resumes.
  std::function<void(const FetchProgress&)> progress = nullptr;
};

/// Fetches what `name` names into `folder`, which exists and which no other process writes to, and
/// gives what there is to be opened: the folder, or the GGUF file in it. Files that are there are
/// not fetched again. Throws Error as parse_model_name(), list_files(), choose_files() and
/// download_file() do, and kIo where the disk has too little room.
std::filesystem::path fetch_model(const ModelName& name, const std::filesystem::path& folder,
                                  const HubOptions& options);

}  // namespace gumbel
