// Memory for new allocations.
#pragma once

#include <cstdint>
#include <filesystem>

namespace gumbel {

/// Bytes of memory that the system, and the control groups of this process, would give to new
/// allocations without swapping: MemAvailable of /proc/meminfo, or less (cgroup.h). 0 where the
/// system does not say. `root` is the folder that stands for "/".
uint64_t available_memory(const std::filesystem::path& root = "/");

}  // namespace gumbel
