#include "export/huggingface/strict_json.h"

#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/quote.h"

namespace gumbel {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

MappedFile map_bounded(const std::filesystem::path& path, size_t max_bytes) {
  MappedFile file(path);
  if (file.bytes().size() > max_bytes)
    fail(ErrorCode::kCorruptFile, "{}: expected at most {} bytes, got {}", path.string(), max_bytes,
         file.bytes().size());
  return file;
}

}  // namespace

nlohmann::json parse_strict_json(std::string_view text, std::string_view where) {
  using nlohmann::json;
  constexpr int kDeepest = 64;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, json::parse_event_t event, json& value) {
    const bool opens =
        event == json::parse_event_t::object_start || event == json::parse_event_t::array_start;
    if (opens && depth >= kDeepest)  // `depth` containers are open already
      fail(ErrorCode::kCorruptFile, "{}: JSON nested deeper than {}", where, kDeepest);
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key) {
      const auto& key = value.get_ref<const std::string&>();
      if (!keys.back().insert(key).second)
        fail(ErrorCode::kCorruptFile, "{}: key {} stands twice", where, quote(key));
    }
    return true;
  };
  try {
    return json::parse(text, check);
  } catch (const json::exception& error) {
    // "[json.exception.parse_error.101] parse error at ...": the bracket says nothing to a user.
    const std::string_view what = error.what();
    const size_t start = what.find("] ");
    const std::string message = quote(what.substr(start == std::string_view::npos ? 0 : start + 2));
    fail(ErrorCode::kCorruptFile, "{}: not valid JSON: {}", where, message);
  }
}

nlohmann::json read_strict_json(const std::filesystem::path& path, size_t max_bytes) {
  const MappedFile file = map_bounded(path, max_bytes);
  return parse_strict_json(as_text(file.bytes()), path.string());
}

std::string read_text_file(const std::filesystem::path& path, size_t max_bytes) {
  const MappedFile file = map_bounded(path, max_bytes);
  return std::string(as_text(file.bytes()));
}

}  // namespace gumbel
