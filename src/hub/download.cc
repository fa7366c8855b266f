#include "hub/download.h"

#include <algorithm>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/mapped_file.h"
#include "base/quote.h"
#include "hub/partial_file.h"

namespace gumbel {
namespace {

// Progress by which a connection that is cut again and again still gets on.
constexpr uint64_t kGotOnBytes = uint64_t{1} << 20;
constexpr size_t kHashedBytes = size_t{4} << 20;

std::string file_url(const HttpClient& client, const ModelName& name, const std::string& path) {
  std::string url = fmt::format("{}/{}/resolve/main", client.endpoint(), name.repository());
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    url += '/' + escape_url(std::string_view(path).substr(at, end - at));
    at = end + 1;
  }
  return url;
}

// Whether an answer of status 206 begins at byte `offset` of `bytes`.
bool continues_at(const HttpHead& head, uint64_t offset, uint64_t bytes) {
  return head.status == 206 &&
         head.header("content-range") == fmt::format("bytes {}-{}/{}", offset, bytes - 1, bytes);
}

// Whether the file at `path`, fetched by an earlier process, is the one that is listed now.
bool is_there(const std::filesystem::path& path, const HubFile& file,
              const std::function<void(uint64_t)>& received) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return false;
  const MappedFile present(path);
  const std::span<const std::byte> bytes = present.bytes();
  if (bytes.size() != file.bytes) return false;
  Digest digest = file.new_digest();
  for (size_t at = 0; at < bytes.size();) {
    const auto block = bytes.subspan(at, std::min(bytes.size() - at, kHashedBytes));
    digest.add(block);
    MappedFile::release(block);
    at += block.size();
    received(at);
  }
  return digest.hex() == file.digest();
}

// What one attempt comes to.
struct Attempt {
  HttpResult result;
  std::string refused;  ///< what is wrong with the answer; empty for nothing
};

Attempt attempt_once(HttpClient& client, const std::string& url, const HubFile& file,
                     PartialFile& partial, const std::function<void(uint64_t)>& received) {
  std::vector<std::string> headers;
  const uint64_t offset = partial.bytes();
  if (offset > 0) {
    headers.push_back(fmt::format("Range: bytes={}-", offset));
    if (!partial.etag().empty()) headers.push_back("If-Range: " + partial.etag());
  }
  Attempt attempt;
  bool begun = false;
  const HttpBody body = [&](const HttpHead& head, std::span<const std::byte> bytes) {
    if (!begun) {
      begun = true;
      // The whole file from its beginning, or another part than was asked for.
      if (!continues_at(head, offset, file.bytes)) {
        partial.restart();
        if (head.status != 200) {
          attempt.refused =
              fmt::format("expected bytes from {} on, got status {} with {}", offset, head.status,
                          quote(head.header("content-range").value_or("")));
          return false;
        }
        partial.set_etag(head.header("etag").value_or(""));
      }
      const uint64_t expected = file.bytes - partial.bytes();
      if (const auto length = head.number("content-length"); length && *length != expected) {
        attempt.refused =
            fmt::format("expected {} bytes, the server announces {}", expected, *length);
        return false;
      }
    }
    if (bytes.size() > file.bytes - partial.bytes()) {
      attempt.refused = fmt::format("expected {} bytes, the server sends more", file.bytes);
      return false;
    }
    partial.append(bytes);
    received(partial.bytes());
    return true;
  };
  attempt.result = client.get(url, headers, body);
  return attempt;
}

// Fetches until all bytes are there.
void fetch_bytes(HttpClient& client, const std::string& model, const std::string& url,
                 const HubFile& file, PartialFile& partial, const RetryPolicy& policy,
                 const std::function<void()>& idle, const std::function<void(uint64_t)>& received) {
  Retries retries(policy, idle);
  uint64_t got_on = partial.bytes();
  bool asked_anew = false;
  while (partial.bytes() < file.bytes) {
    Attempt attempt = attempt_once(client, url, file, partial, received);
    HttpResult& result = attempt.result;
    if (!attempt.refused.empty()) {
      partial.restart();
      fail(ErrorCode::kCorruptFile, "{}: {}: {}", model, printable(result.head.url, 300),
           attempt.refused);
    }
    if (partial.bytes() == file.bytes) return;
    if (result.failure.empty() && result.head.status == 416 && partial.bytes() > 0 && !asked_anew) {
      asked_anew = true;
      partial.restart();
      continue;
    }
    // A success without all bytes: the connection was closed before its time, unannounced.
    if (result.failure.empty() && result.head.status >= 200 && result.head.status < 300) {
      result.failure = fmt::format("expected {} bytes, the connection was closed after {}",
                                   file.bytes, partial.bytes());
      result.may_retry = true;
    }
    if (partial.bytes() >= got_on + kGotOnBytes) retries.restart();
    got_on = std::max(got_on, partial.bytes());
    if (!retries.wait(result)) fail_request(model, client, result);
  }
}

}  // namespace

void download_file(HttpClient& client, const ModelName& name, const HubFile& file,
                   const std::filesystem::path& path, const RetryPolicy& policy,
                   const std::function<void(uint64_t bytes)>& received) {
  if (is_there(path, file, received)) return;
  const std::string model = "hf:" + name.repository();
  const std::string url = file_url(client, name, file.path);
  PartialFile partial(path, file);
  // A part that was damaged where it lay is fetched anew, once.
  for (bool resumed = partial.bytes() > 0;; resumed = false) {
    received(partial.bytes());
    fetch_bytes(
        client, model, url, file, partial, policy, [&] { received(partial.bytes()); }, received);
    const std::string digest = partial.digest();
    if (digest == file.digest()) break;
    partial.restart();
    if (!resumed)
      fail(ErrorCode::kCorruptFile, "{}: {}: expected contents of {} {}, got {}", model, url,
           file.sha256.empty() ? "git blob" : "SHA-256", file.digest(), digest);
  }
  partial.commit();
}

}  // namespace gumbel
