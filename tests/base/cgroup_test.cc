// Control groups as folders of files, in the layouts that systems have.
#include "base/cgroup.h"

#include <fmt/format.h>

#include <fstream>

#include "base/available_memory.h"
#include "base/thread_pool.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

// A folder that stands for "/".
class Machine {
 public:
  void write(const std::string& path, const std::string& contents) const {
    const std::filesystem::path file = folder_.path() / path;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << contents;
  }
  // The process's groups, and a line of /proc/self/mountinfo for each mount.
  void write_self(const std::string& cgroup, const std::string& mountinfo) const {
    write("proc/self/cgroup", cgroup);
    write("proc/self/mountinfo",
          "22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw\n" + mountinfo);
  }
  std::optional<double> cpus() const { return cgroup_cpus(folder_.path()); }
  std::optional<uint64_t> memory() const { return cgroup_available_memory(folder_.path()); }
  const std::filesystem::path& root() const { return folder_.path(); }

 private:
  test::TemporaryFolder folder_;
};

constexpr const char* kV1Mounts =
    "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
    "32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 master:2 - cgroup cgroup rw,cpu,cpuacct\n"
    "33 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset\n"
    "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n";
constexpr const char* kV2Mount = "41 31 0:38 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw\n";

TEST(Cgroup, NothingWithoutGroups) {
  const Machine machine;
  EXPECT_EQ(machine.cpus(), std::nullopt);
  EXPECT_EQ(machine.memory(), std::nullopt);
  machine.write_self("", "");
  EXPECT_EQ(machine.cpus(), std::nullopt);
  machine.write_self("0::/\n", kV2Mount);  // the root of version 2 has no such files
  EXPECT_EQ(machine.cpus(), std::nullopt);
  EXPECT_EQ(machine.memory(), std::nullopt);
}

TEST(Cgroup, Version1) {
  const Machine machine;
  machine.write_self("5:memory:/jobs/a\n4:cpuset:/other\n2:cpu,cpuacct:/jobs/a\n0::/\n", kV1Mounts);
  const std::string cpu = "sys/fs/cgroup/cpu,cpuacct/";
  machine.write(cpu + "cpu.cfs_quota_us", "-1\n");
  machine.write(cpu + "cpu.cfs_period_us", "100000\n");
  machine.write(cpu + "jobs/a/cpu.cfs_quota_us", "-1\n");
  machine.write(cpu + "jobs/a/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(machine.cpus(), std::nullopt);
  machine.write(cpu + "jobs/a/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(machine.cpus(), 2.5);
  machine.write(cpu + "jobs/cpu.cfs_quota_us", "25000\n");
  machine.write(cpu + "jobs/cpu.cfs_period_us", "50000\n");
  EXPECT_EQ(machine.cpus(), 0.5);
  machine.write("sys/fs/cgroup/cpuset/other/cpu.cfs_quota_us", "1\n");  // another hierarchy

  const std::string memory = "sys/fs/cgroup/memory/";
  machine.write(memory + "memory.limit_in_bytes", "9223372036854771712\n");  // none
  EXPECT_EQ(machine.memory(), std::nullopt);
  machine.write(memory + "jobs/a/memory.limit_in_bytes", "9000\n");
  EXPECT_EQ(machine.memory(), 9000u);
  machine.write(memory + "jobs/a/memory.usage_in_bytes", "5000\n");
  EXPECT_EQ(machine.memory(), 4000u);
  machine.write(memory + "jobs/a/memory.stat",
                "cache 7\nactive_file 1\ntotal_inactive_file 1500\ntotal_active_file 500\n");
  EXPECT_EQ(machine.memory(), 6000u);
  machine.write(memory + "jobs/memory.limit_in_bytes", "1000\n");
  machine.write(memory + "jobs/memory.usage_in_bytes", "2000\n");
  EXPECT_EQ(machine.memory(), 0u);
}

TEST(Cgroup, Version2) {
  const Machine machine;
  machine.write_self("0::/user.slice/job\n", kV2Mount);
  const std::string group = "sys/fs/cgroup/user.slice/job/";
  machine.write(group + "cpu.max", "max 100000\n");
  machine.write(group + "memory.max", "max\n");
  EXPECT_EQ(machine.cpus(), std::nullopt);
  EXPECT_EQ(machine.memory(), std::nullopt);
  machine.write(group + "cpu.max", "150000 100000\n");
  EXPECT_EQ(machine.cpus(), 1.5);
  machine.write("sys/fs/cgroup/user.slice/cpu.max", "100000 100000\n");
  EXPECT_EQ(machine.cpus(), 1.0);
  machine.write(group + "memory.max", "1048576\n");
  machine.write(group + "memory.current", "1000000\n");
  machine.write(group + "memory.stat", "anon 1\ninactive_file 900000\nactive_file 1424\n");
  EXPECT_EQ(machine.memory(), 1'048'576u - 98'576u);
}

// Systems have both; a controller is in one of them.
TEST(Cgroup, BothVersions) {
  const Machine machine;
  machine.write_self("1:cpu:/\n0::/job\n",
                     "32 31 0:29 / /c/one rw - cgroup cgroup rw,cpu\n"
                     "41 31 0:38 / /c/two\\040x rw - cgroup2 cgroup2 rw\n");
  machine.write("c/one/cpu.cfs_quota_us", "400000");
  machine.write("c/one/cpu.cfs_period_us", "100000");
  machine.write("c/two x/job/cpu.max", "300000 100000");
  machine.write("c/two x/job/memory.max", "5000");
  EXPECT_EQ(machine.cpus(), 3.0);
  EXPECT_EQ(machine.memory(), 5000u);
}

// In a container the mount is of the group itself, while the path is that of the host; or, in a
// namespace, the path leads out of it.
TEST(Cgroup, MountsOfASubtree) {
  for (const char* path : {"/docker/abc", "/", "/../other"}) {
    SCOPED_TRACE(path);
    const Machine machine;
    machine.write_self(fmt::format("2:cpu:{}\n", path),
                       "32 31 0:29 /docker/abc /c rw - cgroup cgroup rw,cpu\n");
    machine.write("c/cpu.cfs_quota_us", "70000");
    machine.write("c/cpu.cfs_period_us", "100000");
    EXPECT_EQ(machine.cpus(), 0.7);
  }
  const Machine machine;
  machine.write_self("2:cpu:/docker/abc/inner\n",
                     "32 31 0:29 /docker/abc /c rw - cgroup cgroup rw,cpu\n");
  machine.write("c/inner/cpu.cfs_quota_us", "20000");
  machine.write("c/inner/cpu.cfs_period_us", "100000");
  EXPECT_EQ(machine.cpus(), 0.2);
}

TEST(Cgroup, DamagedFilesSetNoLimit) {
  const Machine machine;
  for (const char* mounts : {"\n", "32 31\n", "32 31 0:29 / /c rw cgroup cgroup rw,cpu\n",
                             "32 31 0:29 / /c rw - cgroup\n", "- - - - - - -\n"})
    for (const char* cgroup : {"\n", ":\n", "::\n", "2:cpu\n", "2:cpu:\n"}) {
      machine.write_self(cgroup, mounts);
      EXPECT_EQ(machine.cpus(), std::nullopt);
    }
  machine.write_self("2:cpu:/\n", "32 31 0:29 / /c rw - cgroup cgroup rw,cpu\n");
  machine.write("c/cpu.cfs_quota_us", "100000");
  for (const char* period : {"", "0", "-5", "x", "nan"}) {
    machine.write("c/cpu.cfs_period_us", period);
    EXPECT_EQ(machine.cpus(), std::nullopt) << period;
  }
}

TEST(Cgroup, ThreadsStayWithinTheQuota) {
  const Machine machine;
  machine.write_self("0::/\n", kV2Mount);
  EXPECT_EQ(within_cpu_quota(8, machine.root()), 8);
  const std::pair<const char*, int> kCases[] = {
      {"50000 100000", 1},   {"1 100000", 1},      {"100000 100000", 1},
      {"100001 100000", 2},  {"250000 100000", 3}, {"800000 100000", 8},
      {"9000000 100000", 8}, {"1e300 1e-9", 8},    {"max 100000", 8}};
  for (const auto& [quota, threads] : kCases) {
    machine.write("sys/fs/cgroup/cpu.max", quota);
    EXPECT_EQ(within_cpu_quota(8, machine.root()), threads) << quota;
  }
}

TEST(AvailableMemory, IsTheLessOfTheSystemsAndTheGroups) {
  const Machine machine;
  EXPECT_EQ(available_memory(machine.root()), 0u);
  machine.write("proc/meminfo",
                "MemTotal:       100 kB\nMemFree:         10 kB\nMemAvailable:    64 kB\n"
                "HugePages_Total:       0\n");
  EXPECT_EQ(available_memory(machine.root()), 65'536u);
  machine.write_self("0::/\n", kV2Mount);
  machine.write("sys/fs/cgroup/memory.max", "100000");
  EXPECT_EQ(available_memory(machine.root()), 65'536u);
  machine.write("sys/fs/cgroup/memory.max", "4096");
  EXPECT_EQ(available_memory(machine.root()), 4096u);
}

}  // namespace
}  // namespace gumbel
