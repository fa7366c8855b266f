// What Linux control groups allow this process (cgroups(7); the kernel's cgroup-v1 and cgroup-v2
// documents).
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace gumbel {

/// CPU time a second of real time: the least quota of the process's group and of all above it, of
/// version 1 (cpu.cfs_quota_us) and 2 (cpu.max). Nothing where none is set. `root` is the folder
/// that stands for "/", under which /proc/self and the mounted hierarchies are looked up.
std::optional<double> cgroup_cpus(const std::filesystem::path& root = "/");

/// Bytes of memory that could still be used before the limit of the process's group, or of one
/// above it, is reached (memory.limit_in_bytes; memory.max): the limit less what is used, file
/// pages that can be given up aside; the least of all. Nothing where no limit is set.
std::optional<uint64_t> cgroup_available_memory(const std::filesystem::path& root = "/");

}  // namespace gumbel
