#include "base/cgroup.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace gumbel {
namespace {

namespace fs = std::filesystem;

enum class Version { k1, k2 };

// A mounted hierarchy: `group` of it, "/" for all, is seen at `point`.
struct Mount {
  Version version;
  fs::path point;
  fs::path group;
};

// The file of a group that limits this process.
struct Group {
  Version version;
  fs::path folder;
};

bool lists(const std::string& names, std::string_view name) {
  std::istringstream stream(names);
  for (std::string listed; std::getline(stream, listed, ',');)
    if (listed == name) return true;
  return false;
}

// mountinfo writes a space, tab, newline and backslash as \ and three octal digits.
std::string unescaped(const std::string& text) {
  const auto is_octal = [](char c) { return c >= '0' && c <= '7'; };
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() &&
        std::all_of(&text[i + 1], &text[i + 4], is_octal)) {
      plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 +
                                 (text[i + 3] - '0'));
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

// Where the hierarchy of `controller` is mounted, and that of version 2.
std::vector<Mount> mounts_of(const fs::path& root, std::string_view controller) {
  std::vector<Mount> mounts;
  std::ifstream file(root / "proc/self/mountinfo");
  for (std::string line; std::getline(file, line);) {
    // ID PARENT MAJOR:MINOR GROUP POINT OPTIONS [FIELDS] - TYPE SOURCE OPTIONS
    std::istringstream fields(line);
    std::string skipped, group, point, type, options;
    fields >> skipped >> skipped >> skipped >> group >> point;
    while (fields >> skipped && skipped != "-") {
    }
    fields >> type >> skipped >> options;
    const bool is_v1 = type == "cgroup" && lists(options, controller);
    if (!fields || (!is_v1 && type != "cgroup2")) continue;
    mounts.push_back({is_v1 ? Version::k1 : Version::k2,
                      root / fs::path(unescaped(point)).relative_path(), unescaped(group)});
  }
  return mounts;
}

// The process's group in each version: its path in the hierarchy.
std::optional<fs::path> path_of(const fs::path& root, Version version,
                                std::string_view controller) {
  std::ifstream file(root / "proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    // NUMBER:CONTROLLERS:PATH, where version 2 has no controllers.
    const size_t first = line.find(':');
    const size_t second = line.find(':', first == std::string::npos ? first : first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (version == Version::k2 ? controllers.empty() : lists(controllers, controller))
      return fs::path(line.substr(second + 1)).lexically_normal();
  }
  return std::nullopt;
}

// The process's group and all above it, as far as they are mounted.
std::vector<Group> groups_of(const fs::path& root, std::string_view controller) {
  std::vector<Group> groups;
  for (const Mount& mount : mounts_of(root, controller)) {
    const auto path = path_of(root, mount.version, controller);
    if (!path) continue;
    groups.push_back({mount.version, mount.point});
    // In a namespace of its own a process may see neither the mount's group nor its own below it:
    // then the mount is what there is of the hierarchy.
    const fs::path below = path->lexically_relative(mount.group);
    fs::path folder = mount.point;
    if (below.empty() || *below.begin() == "..") continue;
    for (const fs::path& part : below) {
      if (part == ".") continue;
      folder /= part;
      groups.push_back({mount.version, folder});
    }
  }
  return groups;
}

// The number a file begins with; nothing for a word such as "max" or a missing file.
template <typename T>
std::optional<T> number_in(const fs::path& path) {
  std::ifstream file(path);
  T number{};
  if (!(file >> number)) return std::nullopt;
  return number;
}

std::optional<double> cpus_of(const Group& group) {
  double quota = 0, period = 0;
  if (group.version == Version::k1) {
    quota = number_in<double>(group.folder / "cpu.cfs_quota_us").value_or(-1);  // -1: none
    period = number_in<double>(group.folder / "cpu.cfs_period_us").value_or(0);
  } else {
    std::ifstream file(group.folder / "cpu.max");
    if (!(file >> quota >> period)) return std::nullopt;
  }
  if (!(quota > 0 && period > 0)) return std::nullopt;
  return quota / period;
}

// Pages of files in a group's memory, which are given up before the limit is enforced.
uint64_t file_bytes(const Group& group) {
  const std::string prefix = group.version == Version::k1 ? "total_" : "";
  std::ifstream file(group.folder / "memory.stat");
  std::string key;
  uint64_t value = 0, sum = 0;
  while (file >> key >> value)
    if (key == prefix + "active_file" || key == prefix + "inactive_file") sum += value;
  return sum;
}

std::optional<uint64_t> available_memory_of(const Group& group) {
  const bool is_v1 = group.version == Version::k1;
  const auto limit =
      number_in<uint64_t>(group.folder / (is_v1 ? "memory.limit_in_bytes" : "memory.max"));
  // Version 1 has a huge number for none.
  if (!limit || *limit >= uint64_t{1} << 62) return std::nullopt;
  const uint64_t used =
      number_in<uint64_t>(group.folder / (is_v1 ? "memory.usage_in_bytes" : "memory.current"))
          .value_or(0);
  const uint64_t held = used - std::min(used, file_bytes(group));
  return *limit - std::min(*limit, held);
}

template <typename T, typename Read>
std::optional<T> least(const std::vector<Group>& groups, const Read& read) {
  std::optional<T> result;
  for (const Group& group : groups)
    if (const std::optional<T> value = read(group))
      result = std::min(result.value_or(*value), *value);
  return result;
}

}  // namespace

std::optional<double> cgroup_cpus(const fs::path& root) {
  return least<double>(groups_of(root, "cpu"), cpus_of);
}

std::optional<uint64_t> cgroup_available_memory(const fs::path& root) {
  return least<uint64_t>(groups_of(root, "memory"), available_memory_of);
}

}  // namespace gumbel
