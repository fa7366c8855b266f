#include "hub/hub.h"

#include <algorithm>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "hub/choose_files.h"
#include "hub/download.h"
#include "hub/http.h"
#include "hub/listing.h"

namespace gumbel {
namespace {

constexpr uint64_t kMostIndexBytes = uint64_t{32} << 20;
// Configurations and tokenizers; the weights beside them have no limit but the disk.
constexpr uint64_t kMostMetadataBytes = uint64_t{512} << 20;

uint64_t size_of(const std::filesystem::path& path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

// Fetches a list of files and keeps count.
class Fetcher {
 public:
  Fetcher(const ModelName& name, const std::filesystem::path& folder, const HubOptions& options)
      : name_(name),
        folder_(folder),
        options_(options),
        client_(options.endpoint, options.token, [this] { report(); }) {}

  std::filesystem::path run() {
    Retries retries(options_.retry, [this] { report(); });
    const std::vector<HubFile> listing = list_files(client_, name_, retries);
    const FileChoice choice = choose_files(listing, name_);
    std::vector<HubFile> files = choice.files;
    if (!choice.index.empty()) {
      const auto index = std::find_if(files.begin(), files.end(), [&](const HubFile& file) {
        return file.path == choice.index;
      });
      if (index->bytes > kMostIndexBytes)
        fail(ErrorCode::kUnsupported, "hf:{}: {}: expected at most {} bytes, got {}",
             name_.repository(), choice.index, kMostIndexBytes, index->bytes);
      fetch({*index});
      const MappedFile text(folder_ / choice.index);
      const std::vector<HubFile> shards =
          choose_shards({reinterpret_cast<const char*>(text.bytes().data()), text.bytes().size()},
                        listing, fmt::format("hf:{}: {}", name_.repository(), choice.index));
      files.insert(files.end(), shards.begin(), shards.end());
    }
    fetch(files);
    if (choice.gguf.empty()) return folder_;
    return folder_ / choice.gguf.substr(choice.gguf.rfind('/') + 1);
  }

 private:
  void report() {
    if (options_.progress) options_.progress(progress_);
  }

  void fetch(const std::vector<HubFile>& files) {
    progress_ = {};
    // At most 20,000 files of 2^44 bytes: no overflow.
    for (const HubFile& file : files) {
      if (file.name().ends_with(".json") && file.bytes > kMostMetadataBytes)
        fail(ErrorCode::kUnsupported, "hf:{}: {}: expected at most {} bytes, got {}",
             name_.repository(), file.path, kMostMetadataBytes, file.bytes);
      progress_.total += file.bytes;
      const std::filesystem::path path = folder_ / file.name();
      progress_.present += std::filesystem::exists(path)
                               ? file.bytes
                               : std::min(size_of(path.string() + ".partial"), file.bytes);
    }
    verify_room(progress_.total - progress_.present);
    progress_.present = 0;
    for (const HubFile& file : files) {
      const uint64_t before = progress_.present;
      download_file(client_, name_, file, folder_ / file.name(), options_.retry,
                    [&](uint64_t bytes) {
                      progress_.present = before + bytes;
                      report();
                    });
      progress_.present = before + file.bytes;
      report();
    }
  }

  void verify_room(uint64_t bytes) const {
    std::error_code error;
    const std::filesystem::space_info space = std::filesystem::space(folder_, error);
    if (!error && space.available < bytes)
      fail(ErrorCode::kIo, "{}: cannot write: hf:{} needs {} MB more, the disk has {} MB left",
           folder_.string(), name_.repository(), bytes / 1'000'000, space.available / 1'000'000);
  }

  const ModelName& name_;
  const std::filesystem::path& folder_;
  const HubOptions& options_;
  FetchProgress progress_;
  HttpClient client_;
};

}  // namespace

std::filesystem::path fetch_model(const ModelName& name, const std::filesystem::path& folder,
                                  const HubOptions& options) {
  return Fetcher(name, folder, options).run();
}

}  // namespace gumbel
