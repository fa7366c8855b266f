#include "cli/source_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <span>

#include "base/checksum.h"
#include "base/error.h"
#include "base/mapped_file.h"

namespace gumbel::cli {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kSmallBytes = uint64_t{16} << 20;
constexpr uint64_t kBlocks = 64;
constexpr uint64_t kBlockBytes = uint64_t{64} << 10;

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::vector<fs::path> folder_files(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const char* name :
       {"chat_template.jinja", "chat_template.json", "config.json", "generation_config.json",
        "model.safetensors.index.json", "tokenizer.json", "tokenizer_config.json"})
    if (is_there(folder / name)) files.push_back(folder / name);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored))
    if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
  return files;
}

// PREFIX-00002-of-00005.gguf has its other parts beside it.
std::vector<fs::path> gguf_files(const fs::path& path) {
  const std::string name = path.filename().string();
  constexpr size_t kSuffix = std::string_view("-00001-of-00001.gguf").size();
  if (name.size() <= kSuffix) return {path};
  const std::string prefix = name.substr(0, name.size() - kSuffix);
  int parts = 0;
  std::from_chars(name.data() + prefix.size() + 10, name.data() + prefix.size() + 15, parts);
  const auto part = [&](int i) { return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, i, parts); };
  std::vector<fs::path> files;
  bool is_part = false;
  for (int i = 1; i <= parts; ++i) {
    if (!is_there(path.parent_path() / part(i))) break;
    files.push_back(path.parent_path() / part(i));
    is_part = is_part || part(i) == name;
  }
  return is_part ? files : std::vector<fs::path>{path};
}

void add_number(Checksum& checksum, uint64_t number) {
  checksum.add(std::as_bytes(std::span(&number, 1)));
}

}  // namespace

std::vector<fs::path> source_files(std::string_view source) {
  constexpr std::string_view kRandom = "random:";
  if (source.starts_with(kRandom)) source.remove_prefix(kRandom.size());
  const fs::path path(source);
  std::error_code ignored;
  if (!is_there(path)) return {};
  std::vector<fs::path> files =
      fs::is_directory(path, ignored) ? folder_files(path) : gguf_files(path);
  std::sort(files.begin(), files.end());
  return files;
}

uint64_t fingerprint(const std::vector<fs::path>& files) {
  Checksum checksum;
  for (const fs::path& path : files) {
    const std::string name = path.filename().string();
    const MappedFile file(path);
    const std::span<const std::byte> bytes = file.bytes();
    add_number(checksum, name.size());
    checksum.add(std::as_bytes(std::span(name)));
    add_number(checksum, bytes.size());
    if (bytes.size() <= kSmallBytes) {
      checksum.add(bytes);
      continue;
    }
    const auto changed = fs::last_write_time(path).time_since_epoch().count();
    add_number(checksum, static_cast<uint64_t>(changed));
    // In floating point, as the product may exceed 64 bits; the same for the same size.
    const auto last = static_cast<double>(bytes.size() - kBlockBytes);
    for (uint64_t i = 0; i < kBlocks; ++i) {
      const double at = last * (static_cast<double>(i) / (kBlocks - 1));
      checksum.add(bytes.subspan(std::min(static_cast<uint64_t>(at), bytes.size() - kBlockBytes),
                                 kBlockBytes));
    }
  }
  return checksum.value();
}

}  // namespace gumbel::cli
