#include "base/available_memory.h"

#include <algorithm>
#include <fstream>
#include <string>

#include "base/cgroup.h"

namespace gumbel {

uint64_t available_memory(const std::filesystem::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::string key, unit;
  uint64_t kibibytes = 0, bytes = 0;
  while (file >> key >> kibibytes && std::getline(file, unit))
    if (key == "MemAvailable:") bytes = kibibytes << 10;
  return std::min(bytes, cgroup_available_memory(root).value_or(bytes));
}

}  // namespace gumbel
