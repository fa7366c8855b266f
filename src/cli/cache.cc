#include "cli/cache.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>

#include "base/checksum.h"
#include "base/error.h"
#include "base/json_fields.h"
#include "base/output_file.h"
#include "base/quote.h"
#include "hub/model_name.h"

namespace gumbel::cli {
namespace {

namespace fs = std::filesystem;
using Kind = FileLock::Kind;

bool is_key(std::string_view text) {
  return text.size() == 16 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

fs::path models_folder() { return cache_folder() / "models"; }

fs::path lock_path(const std::string& key) { return models_folder() / (key + ".lock"); }

fs::path record_path(const std::string& key) { return models_folder() / (key + ".json"); }

// Nothing where the entry is not complete, or its record is damaged.
std::optional<CacheRecord> read_record(const std::string& key) {
  const fs::path path = record_path(key);
  std::ifstream file(path);
  if (!file) return std::nullopt;
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  try {
    const nlohmann::json value = parse_json_object(text, path.string());
    const JsonFields fields(value, path.string());
    CacheRecord record{.kind = fields.string_or("kind", ""),
                       .name = fields.string_or("name", ""),
                       .source = fields.string_or("source", ""),
                       .settings = fields.string_or("settings", ""),
                       .subject = fields.string_or("subject", ""),
                       .file = fields.string_or("file", "")};
    if (!is_sound_path(record.file)) return std::nullopt;
    return record;
  } catch (const Error&) {
    return std::nullopt;
  }
}

void write_record(const std::string& key, const CacheRecord& record) {
  const nlohmann::ordered_json value = {{"kind", record.kind},       {"name", record.name},
                                        {"source", record.source},   {"settings", record.settings},
                                        {"subject", record.subject}, {"file", record.file}};
  const std::string text =
      value.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
  OutputFile file(record_path(key));
  file.write_at(0, std::as_bytes(std::span(text)));
  file.commit();
}

// What of the entry there is to be opened, where it is complete and sound.
std::optional<fs::path> sound_entry(const std::string& key, const CacheMaker& maker) {
  const std::optional<CacheRecord> record = read_record(key);
  if (!record) return std::nullopt;
  fs::path path = models_folder() / key / record->file;
  std::error_code ignored;
  if (!fs::exists(path, ignored) || !maker.is_sound(path)) return std::nullopt;
  return path;
}

void create_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    fail(ErrorCode::kIo, "{}: cannot create: {} (GUMBEL_CACHE names another folder)",
         folder.string(), error.message());
}

// Removes `folder` where it holds nothing but empty folders.
void remove_if_empty(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.is_directory(ignored)) fs::remove(entry.path(), ignored);
  fs::remove(folder, ignored);
}

uint64_t bytes_in(const fs::path& folder) {
  uint64_t bytes = 0;
  std::error_code ignored;
  for (const auto& entry : fs::recursive_directory_iterator(folder, ignored)) {
    const uint64_t size = entry.is_regular_file(ignored) ? entry.file_size(ignored) : 0;
    bytes += size == static_cast<uint64_t>(-1) ? 0 : size;
  }
  return bytes;
}

}  // namespace

fs::path cache_folder() {
  if (const std::string cache = environment("GUMBEL_CACHE"); !cache.empty()) return cache;
  if (const std::string cache = environment("XDG_CACHE_HOME"); cache.starts_with('/'))
    return fs::path(cache) / "gumbel";
  if (const std::string home = environment("HOME"); !home.empty())
    return fs::path(home) / ".cache" / "gumbel";
  fail(ErrorCode::kNotFound, "expected the folder of the cache in GUMBEL_CACHE, or HOME");
}

std::string cache_key(std::string_view text) {
  return fmt::format("{:016x}", checksum_of(std::as_bytes(std::span(text))));
}

HeldEntry cached(const std::string& key, const CacheMaker& maker) {
  const fs::path folder = models_folder() / key;
  create_folder(folder.parent_path());
  while (true) {
    {
      FileLock lock = FileLock::take(lock_path(key), Kind::kShared, maker.waiting);
      if (const auto path = sound_entry(key, maker)) {
        lock.touch();
        return {*path, std::move(lock)};
      }
    }
    // Another process may make it, or delete it, between the two locks.
    const FileLock lock = FileLock::take(lock_path(key), Kind::kExclusive, maker.waiting);
    if (sound_entry(key, maker)) continue;
    create_folder(folder);
    std::error_code ignored;
    fs::remove(record_path(key), ignored);
    try {
      write_record(key, maker.make(folder));
    } catch (...) {
      if (!maker.keeps_parts) fs::remove_all(folder, ignored);
      remove_if_empty(folder);
      if (!fs::exists(folder, ignored)) lock.remove_file();
      throw;
    }
    lock.touch();
  }
}

std::vector<CacheEntry> cache_entries() {
  std::vector<CacheEntry> entries;
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(models_folder(), ignored)) {
    CacheEntry entry{.key = file.path().filename().string(), .record = {}, .last_use = {}};
    if (!is_key(entry.key)) continue;
    entry.record = read_record(entry.key);
    entry.bytes = bytes_in(file.path());
    struct stat status{};
    if (::stat(lock_path(entry.key).c_str(), &status) == 0)
      entry.last_use = std::chrono::system_clock::from_time_t(status.st_mtime);
    entries.push_back(std::move(entry));
  }
  std::sort(entries.begin(), entries.end(), [](const CacheEntry& a, const CacheEntry& b) {
    return std::tie(b.last_use, a.key) < std::tie(a.last_use, b.key);
  });
  return entries;
}

void clear_others(const std::string& subject, const std::string& key) {
  for (const CacheEntry& entry : cache_entries()) {
    if (!entry.record || entry.record->subject != subject || entry.key == key) continue;
    try {
      clear_entry(entry.key);
    } catch (const Error&) {
      continue;  // another process was faster, or may: it is only room on the disk
    }
  }
}

bool clear_entry(const std::string& key) {
  const fs::path folder = models_folder() / key;
  std::error_code error;
  if (!is_key(key) || !fs::exists(folder, error))
    fail(ErrorCode::kNotFound, "{}: expected a key that gumbel cache list shows", quote(key));
  const std::optional<FileLock> lock = FileLock::try_take(lock_path(key), Kind::kExclusive);
  if (!lock) return false;
  fs::remove(record_path(key), error);  // first: what is half deleted is not complete
  fs::remove_all(folder, error);
  if (error) fail(ErrorCode::kIo, "{}: cannot delete: {}", folder.string(), error.message());
  lock->remove_file();
  return true;
}

}  // namespace gumbel::cli
