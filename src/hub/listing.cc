#include "hub/listing.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/quote.h"

namespace gumbel {
namespace {

constexpr size_t kMostPages = 100;
constexpr size_t kMostPageBytes = size_t{8} << 20;
constexpr size_t kMostFiles = 20'000;
constexpr int64_t kMostFileBytes = int64_t{1} << 44;
constexpr int kMostDepth = 8;

nlohmann::json parse_array(std::string_view text, const std::string& where) {
  nlohmann::json value;
  try {
    value = nlohmann::json::parse(text, [&](int depth, nlohmann::json::parse_event_t,
                                            const nlohmann::json&) {
      if (depth > kMostDepth)
        fail(ErrorCode::kCorruptFile, "{}: expected at most {} levels of JSON", where, kMostDepth);
      return true;
    });
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::kCorruptFile, "{}: not JSON: {}", where, quote(error.what(), 160));
  }
  if (!value.is_array())
    fail(ErrorCode::kCorruptFile, "{}: expected an array of files, got {}", where,
         value.type_name());
  return value;
}

bool is_hexadecimal(std::string_view text, size_t digits) {
  return text.size() == digits && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

HubFile parse_file(const JsonFields& fields, std::string path) {
  HubFile file;
  const std::string named = fmt::format("{}: {}", fields.where(), quote(path));
  const int64_t bytes = fields.integer("size").value_or(-1);
  if (bytes < 0 || bytes > kMostFileBytes)
    fail(ErrorCode::kCorruptFile, "{}: expected a size of 0 to {}, got {}", named, kMostFileBytes,
         bytes);
  file.bytes = static_cast<uint64_t>(bytes);
  if (const auto lfs = fields.object("lfs")) {
    file.sha256 = lfs->string_or("oid", "");
    if (!is_hexadecimal(file.sha256, 64))
      fail(ErrorCode::kCorruptFile, "{}: lfs.oid: expected a SHA-256, got {}", named,
           quote(file.sha256));
  } else {
    file.git_oid = fields.string_or("oid", "");
    if (!is_hexadecimal(file.git_oid, 40))
      fail(ErrorCode::kCorruptFile, "{}: oid: expected the id of a git blob, got {}", named,
           quote(file.git_oid));
  }
  file.path = std::move(path);
  return file;
}

// Appends the page to `text`.
HttpResult get_page(HttpClient& client, const std::string& url, const std::string& where,
                    std::string& text) {
  return client.get(url, {}, [&](const HttpHead&, std::span<const std::byte> bytes) {
    if (bytes.size() > kMostPageBytes - text.size())
      fail(ErrorCode::kUnsupported, "{}: expected a page of at most {} bytes", where,
           kMostPageBytes);
    text.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return true;
  });
}

}  // namespace

void append_listing(std::string_view json, const std::string& where, std::vector<HubFile>& files) {
  const nlohmann::json entries = parse_array(json, where);
  for (const nlohmann::json& entry : entries) {
    const JsonFields fields(entry, where);
    std::string path = fields.string_or("path", "");
    if (!is_sound_path(path))
      fail(ErrorCode::kCorruptFile, "{}: expected the path of a file within the model, got {}",
           where, quote(path));
    if (fields.string_or("type", "") != "file") continue;
    if (files.size() == kMostFiles)
      fail(ErrorCode::kUnsupported, "{}: expected at most {} files, got more", where, kMostFiles);
    files.push_back(parse_file(fields, std::move(path)));
  }
}

// RFC 8288: <URL>; parameter; rel="next", <URL>; ...
std::string next_page(std::string_view link) {
  while (true) {
    const size_t open = link.find('<');
    const size_t close = link.find('>', open);
    if (open == std::string_view::npos || close == std::string_view::npos) return "";
    const std::string_view url = link.substr(open + 1, close - open - 1);
    link.remove_prefix(close + 1);
    const std::string_view parameters = link.substr(0, link.find('<'));
    if (parameters.find("rel=\"next\"") != std::string_view::npos ||
        parameters.find("rel=next") != std::string_view::npos)
      return std::string(url);
  }
}

std::vector<HubFile> list_files(HttpClient& client, const ModelName& name, Retries& retries) {
  const std::string model = "hf:" + name.repository();
  std::vector<HubFile> files;
  std::string url = fmt::format("{}/api/models/{}/tree/main?recursive=true", client.endpoint(),
                                name.repository());
  for (size_t pages = 0;;) {
    const std::string where = fmt::format("{}: {}", model, printable(url, 300));
    if (pages == kMostPages)
      fail(ErrorCode::kUnsupported, "{}: expected a listing of at most {} pages", where,
           kMostPages);
    std::string text;
    const HttpResult result = get_page(client, url, where, text);
    if (!result.failure.empty() || result.head.status != 200) {
      if (!retries.wait(result)) fail_request(model, client, result);
      continue;
    }
    retries.restart();
    ++pages;
    append_listing(text, where, files);
    const std::string next = next_page(result.head.header("link").value_or(""));
    if (next.empty()) return files;
    if (const std::string refused = refused_redirect(url, next); !refused.empty())
      fail(ErrorCode::kCorruptFile, "{}: the next page: {}", where, refused);
    url = resolve_url(url, next).value();
  }
}

}  // namespace gumbel
