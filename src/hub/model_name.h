// What names a model on a hub.
#pragma once

#include <string>
#include <string_view>

namespace gumbel {

/// OWNER/NAME, or OWNER/NAME:FILE for a GGUF file of it.
struct ModelName {
  std::string owner;
  std::string name;
  std::string file;  ///< with the folders it lies in; empty where none was named

  std::string repository() const { return owner + "/" + name; }
};

/// Takes `text` ("OWNER/NAME" or "OWNER/NAME:FILE") apart. Owner and name are of letters, digits,
/// '.', '-' and '_', begin with a letter or digit and have up to 96 characters. Throws
/// Error(kInvalidArgument).
ModelName parse_model_name(std::string_view text);

/// Whether `path` is one that a file of a repository may have: relative, of at most 1,024 bytes of
/// valid UTF-8, no part of it empty, ".", ".." or over 255 bytes, and without control characters.
bool is_sound_path(std::string_view path);

}  // namespace gumbel
