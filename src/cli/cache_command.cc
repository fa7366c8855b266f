// gumbel cache: what was fetched and exported, and room on the disk again.
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "cli/cache.h"
#include "cli/commands.h"

namespace gumbel::cli {
namespace {

std::string size_text(uint64_t bytes) {
  if (bytes < 10'000'000) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
  return bytes < 10'000'000'000 ? fmt::format("{} MB", bytes / 1'000'000)
                                : fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

std::string time_text(std::chrono::system_clock::time_point time) {
  return fmt::format("{:%FT%TZ}", fmt::gmtime(std::chrono::system_clock::to_time_t(time)));
}

void list_cache(bool json) {
  nlohmann::ordered_json array = nlohmann::ordered_json::array();
  uint64_t total = 0;
  for (const CacheEntry& entry : cache_entries()) {
    total += entry.bytes;
    const CacheRecord record = entry.record.value_or(CacheRecord{});
    const std::string kind = entry.record ? record.kind : "incomplete";
    array.push_back({{"key", entry.key},
                     {"kind", kind},
                     {"name", record.name},
                     {"source", record.source},
                     {"settings", record.settings},
                     {"bytes", entry.bytes},
                     {"last_use", time_text(entry.last_use)}});
    if (json) continue;
    fmt::print("{}  {:>9}  {}  {:10}  {}{}\n", entry.key, size_text(entry.bytes),
               time_text(entry.last_use), kind, printable(record.source),
               record.settings.empty() ? "" : fmt::format(" ({})", printable(record.settings)));
  }
  if (json)
    fmt::print("{}\n", array.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  else
    fmt::print("{}: {} in {} entries\n", cache_folder().string(), size_text(total), array.size());
}

void clear_cache(std::vector<std::string> keys) {
  const bool all = keys.empty();
  if (all)
    for (const CacheEntry& entry : cache_entries()) keys.push_back(entry.key);
  for (const std::string& key : keys) {
    if (clear_entry(key))
      fmt::print("{}: deleted\n", key);
    else if (all)
      fmt::print("{}: kept, a process uses it\n", key);
    else
      fail(ErrorCode::kFailedState, "{}: a process uses it", key);
  }
}

}  // namespace

void add_cache_command(CLI::App& app) {
  struct Options {
    bool json = false;
    std::vector<std::string> keys;
  };
  auto options = std::make_shared<Options>();
  CLI::App* sub =
      app.add_subcommand("cache", "Show or delete what was fetched and exported automatically");
  sub->require_subcommand(1);
  CLI::App* list = sub->add_subcommand("list", "Show the entries, the last used first");
  list->add_flag("--json", options->json, "Print one JSON array");
  list->callback([options] { list_cache(options->json); });
  CLI::App* clear = sub->add_subcommand("clear", "Delete all entries, or those named");
  clear->add_option("KEY", options->keys, "Key of an entry, as list shows it");
  clear->callback([options] { clear_cache(options->keys); });
}

}  // namespace gumbel::cli
