// The cache: models that were fetched, and programs that were exported from models.
//
// FOLDER/models/KEY holds the files of an entry, and KEY.json, once it is complete, says what they
// are. KEY.lock is held by those that use the entry (shared) or change it (exclusive), and its time
// of change is that of the last use.
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_lock.h"

namespace gumbel::cli {

/// GUMBEL_CACHE, else gumbel in XDG_CACHE_HOME (where that is absolute), else ~/.cache/gumbel.
/// Throws Error(kNotFound) where no variable names one.
std::filesystem::path cache_folder();

/// What KEY.json says.
struct CacheRecord {
  std::string kind;      ///< "program" or "fetched"
  std::string name;      ///< of the model, to show
  std::string source;    ///< where it came from, to show
  std::string settings;  ///< of the export, to show; may be empty
  /// Equal in entries that differ only in the build of gumbel that made them; may be empty.
  std::string subject;
  std::string file;  ///< the file or folder to open, within the entry's folder
};

/// A complete entry, which nobody changes or deletes as long as this lives.
struct HeldEntry {
  std::filesystem::path path;  ///< to open
  FileLock lock;
};

/// How an entry comes about.
struct CacheMaker {
  /// Checks an entry that says it is complete; false has it made anew.
  std::function<bool(const std::filesystem::path& path)> is_sound;
  /// Fills the folder. Where it throws, what it leaves there is deleted, or kept for the next time.
  std::function<CacheRecord(const std::filesystem::path& folder)> make;
  bool keeps_parts = false;
  /// Called about ten times a second while another process holds the entry.
  std::function<void()> waiting;
};

/// The key of what `text` describes: 16 hexadecimal digits.
std::string cache_key(std::string_view text);

/// The entry `key`, made if it is missing; of several processes at once, one makes it and the
/// others wait. Throws Error(kIo) where the cache cannot be written.
HeldEntry cached(const std::string& key, const CacheMaker& maker);

struct CacheEntry {
  std::string key;
  std::optional<CacheRecord> record;  ///< none where a fetch or export was not finished
  uint64_t bytes = 0;
  std::chrono::system_clock::time_point last_use;
};

/// All entries, the last used first.
std::vector<CacheEntry> cache_entries();

/// Deletes the entries of `subject`, but for `key` and those that a process uses.
void clear_others(const std::string& subject, const std::string& key);

/// Deletes an entry. False where a process uses it. Throws Error(kNotFound) for a key that is none
/// or that no entry has.
bool clear_entry(const std::string& key);

}  // namespace gumbel::cli
