// A hub on this machine.
#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "export/test_files.h"

namespace gumbel::test {

/// tests/hub/server.py, which runs as long as the object lives, with a folder of its own.
class LocalHub {
 public:
  LocalHub();
  ~LocalHub();
  LocalHub(const LocalHub&) = delete;
  LocalHub& operator=(const LocalHub&) = delete;

  /// "http://127.0.0.1:PORT".
  const std::string& url() const { return url_; }
  /// Where repositories lie: OWNER/NAME/FILE.
  const std::filesystem::path& root() const { return folder_.path(); }
  /// Writes a file, with the folders that it lies in; `path` is OWNER/NAME/FILE.
  void add(const std::string& path, std::string_view contents) const;
  /// Says what goes wrong, as server.py takes it; what was said before is forgotten.
  void set_faults(const nlohmann::json& faults);
  /// The requests so far, with "path" and the headers in lower case.
  std::vector<nlohmann::json> requests() const;

 private:
  TemporaryFolder folder_;
  int child_ = -1;
  std::string url_;
  int version_ = 0;  // of the faults
};

}  // namespace gumbel::test
