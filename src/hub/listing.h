// The files of a model on a hub.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "hub/digest.h"
#include "hub/http.h"
#include "hub/model_name.h"
#include "hub/retry.h"

namespace gumbel {

/// A file of a repository, as its listing has it.
struct HubFile {
  std::string path;     ///< within the repository; is_sound_path()
  uint64_t bytes = 0;   ///< at most 2^44
  std::string sha256;   ///< 64 lower-case hexadecimal digits; empty for a small file
  std::string git_oid;  ///< 40 of them, the git blob id; of a file that has no sha256

  /// The one of the two that the contents are checked by.
  const std::string& digest() const { return sha256.empty() ? git_oid : sha256; }
  /// A digest of that kind, to which nothing has been added.
  Digest new_digest() const { return sha256.empty() ? Digest::git_blob(bytes) : Digest::sha256(); }
  /// The path without folders.
  std::string name() const { return path.substr(path.rfind('/') + 1); }
};

/// Parses a page of a listing (a JSON array of objects with type, path, size, oid and lfs.oid) and
/// appends its files. Throws Error(kCorruptFile), beginning with `where`, for what is none, for a
/// path that is_sound_path() refuses, and for a file without size or digest.
void append_listing(std::string_view json, const std::string& where, std::vector<HubFile>& files);

/// The URL of the next page that a Link header names, relative or whole; empty where there is none.
std::string next_page(std::string_view link);

/// All files on the main branch of `name`. Pages are followed up to 100, of 8 MiB each, and files
/// up to 20,000. Throws as append_listing() and fail_request() do.
std::vector<HubFile> list_files(HttpClient& client, const ModelName& name, Retries& retries);

}  // namespace gumbel
