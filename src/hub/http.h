// HTTP GET, by libcurl.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gumbel {

/// The start of an answer.
struct HttpHead {
  int status = 0;                              ///< 0: none came
  std::string url;                             ///< what answered, after redirects
  std::map<std::string, std::string> headers;  ///< of the last one of a name; names in lower case

  /// The value of a header, or nothing. `name` is in lower case.
  std::optional<std::string> header(const std::string& name) const;
  /// The value of a header that is a whole number of at most 18 digits.
  std::optional<uint64_t> number(const std::string& name) const;
};

/// What became of a request.
struct HttpResult {
  HttpHead head;
  std::string failure;     ///< why no whole answer came, in one line; empty where one did
  bool may_retry = false;  ///< whether the failure is one that may pass
};

/// Takes the body of an answer of status 200 to 299, in pieces. False, or an exception, which
/// reaches the caller of get(), ends the request.
using HttpBody = std::function<bool(const HttpHead& head, std::span<const std::byte> bytes)>;

/// Asks servers, one request at a time, over connections that it keeps.
class HttpClient {
 public:
  /// `token`, if not empty, is sent as a bearer token to the origin (scheme, host and port) of
  /// `endpoint` and nowhere else. `idle` is called at least once a second while a request is under
  /// way; what it throws ends the request and reaches the caller of get(). Throws
  /// Error(kInvalidArgument) where `endpoint` is not an http or https URL of a host and at most a
  /// path, or the token has a character that is not printable ASCII.
  HttpClient(std::string endpoint, std::string token, std::function<void()> idle);
  ~HttpClient();
  HttpClient(const HttpClient&) = delete;
  HttpClient& operator=(const HttpClient&) = delete;

  /// The endpoint without a slash at its end.
  const std::string& endpoint() const { return endpoint_; }
  bool has_token() const { return !token_.empty(); }

  /// GETs `url` and follows up to 8 redirects, but none from https to http. `headers` ("Name:
  /// value") are sent along every hop. A server that stops sending for a minute has failed, and so
  /// has one whose headers exceed 256 KiB. The body of another status is not read.
  HttpResult get(const std::string& url, const std::vector<std::string>& headers,
                 const HttpBody& body);

 private:
  struct Transfer;
  HttpResult hop(const std::string& url, const std::vector<std::string>& headers,
                 const HttpBody& body);

  std::string endpoint_;
  std::string origin_;
  std::string token_;
  std::function<void()> idle_;
  void* easy_ = nullptr;
};

/// `base` and a reference to it, as a URL. Nothing where that is not http or https.
std::optional<std::string> resolve_url(const std::string& base, const std::string& reference);

/// Why a redirect of status 301 to 308 from `url` to `location` (absolute or relative) must not be
/// followed: it leads from https to http, or to what is neither. Empty where it may be.
std::string refused_redirect(const std::string& url, const std::string& location);

/// `text` with what has a meaning in a URL written %XX.
std::string escape_url(std::string_view text);

}  // namespace gumbel
