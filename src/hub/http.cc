#include "hub/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>
#include <exception>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

namespace gumbel {
namespace {

constexpr int kMostRedirects = 8;
constexpr size_t kMostHeaderBytes = size_t{256} << 10;
constexpr long kConnectSeconds = 30;
constexpr long kIdleSeconds = 60;

struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Url = std::unique_ptr<CURLU, FreeUrl>;

struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

Url parse_url(const std::string& text) {
  Url url(curl_url());
  if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK) return nullptr;
  return url;
}

// A part of `url`; empty where it has none.
std::string part(const Url& url, CURLUPart which, unsigned int flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), which, &text, flags) != CURLUE_OK) return "";
  std::string copy = text;
  curl_free(text);
  return copy;
}

bool is_http(const Url& url) {
  const std::string scheme = part(url, CURLUPART_SCHEME);
  return scheme == "http" || scheme == "https";
}

// Scheme, host and port, which tell whom a request reaches. Empty for what is no URL.
std::string origin(const std::string& text) {
  const Url url = parse_url(text);
  if (!url) return "";
  std::string host = part(url, CURLUPART_HOST);
  std::transform(host.begin(), host.end(), host.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return fmt::format("{}://{}:{}", part(url, CURLUPART_SCHEME), host,
                     part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT));
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return "";
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_CONNECT:
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_WEIRD_SERVER_REPLY:
      return true;
    default:
      return false;
  }
}

}  // namespace

std::optional<std::string> HttpHead::header(const std::string& name) const {
  const auto found = headers.find(name);
  if (found == headers.end()) return std::nullopt;
  return found->second;
}

std::optional<uint64_t> HttpHead::number(const std::string& name) const {
  const std::optional<std::string> text = header(name);
  if (!text || text->size() > 18) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc() || end != text->data() + text->size()) return std::nullopt;
  return value;
}

// One hop, as its callbacks see it. Nothing they throw may pass through libcurl.
struct HttpClient::Transfer {
  HttpHead head;
  const HttpBody& body;
  const std::function<void()>& idle;
  size_t header_bytes = 0;
  bool stopped = false;  // by the body's taker, or because no more is wanted
  std::exception_ptr thrown;

  bool is_success() const { return head.status >= 200 && head.status < 300; }

  static size_t on_header(char* bytes, size_t, size_t count, void* self) {
    return static_cast<Transfer*>(self)->take_header({bytes, count}) ? count : 0;
  }
  static size_t on_body(char* bytes, size_t, size_t count, void* self) {
    return static_cast<Transfer*>(self)->take_body(std::as_bytes(std::span(bytes, count))) ? count
                                                                                           : 0;
  }
  static int on_progress(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
    return static_cast<Transfer*>(self)->guarded([&](Transfer& transfer) {
      if (transfer.idle) transfer.idle();
      return true;
    })
               ? 0
               : 1;
  }

  template <typename Action>
  bool guarded(const Action& action) {
    try {
      return action(*this);
    } catch (...) {
      thrown = std::current_exception();
      return false;
    }
  }

  bool take_header(std::string_view line) {
    return guarded([&](Transfer&) {
      header_bytes += line.size();
      if (header_bytes > kMostHeaderBytes) return false;
      // The status of an answer; of several (100 Continue, a proxy's) the last one counts.
      if (line.starts_with("HTTP/")) {
        head.headers.clear();
        const size_t space = line.find(' ');
        if (space != std::string_view::npos)
          std::from_chars(line.data() + space + 1, line.data() + line.size(), head.status);
        return true;
      }
      const size_t colon = line.find(':');
      if (colon == std::string_view::npos) return true;
      std::string name(trim(line.substr(0, colon)));
      for (char& c : name)
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
      head.headers[name] = trim(line.substr(colon + 1));
      return true;
    });
  }

  bool take_body(std::span<const std::byte> bytes) {
    return guarded([&](Transfer&) {
      if (is_success() && body(head, bytes)) return true;
      stopped = true;
      return false;
    });
  }
};

HttpClient::HttpClient(std::string endpoint, std::string token, std::function<void()> idle)
    : endpoint_(std::move(endpoint)), token_(std::move(token)), idle_(std::move(idle)) {
  while (endpoint_.ends_with('/')) endpoint_.pop_back();
  const Url url = parse_url(endpoint_);
  if (!url || !is_http(url) || !part(url, CURLUPART_USER).empty() ||
      !part(url, CURLUPART_QUERY).empty() || !part(url, CURLUPART_FRAGMENT).empty())
    fail(ErrorCode::kInvalidArgument,
         "HF_ENDPOINT: expected a URL such as https://huggingface.co, got {}", quote(endpoint_));
  // A line end would begin another header.
  if (std::any_of(token_.begin(), token_.end(), [](char c) { return c <= ' ' || c > '~'; }))
    fail(ErrorCode::kInvalidArgument, "HF_TOKEN: expected printable ASCII without spaces");
  origin_ = origin(endpoint_);
  easy_ = curl_easy_init();
  if (easy_ == nullptr) throw std::bad_alloc();
}

HttpClient::~HttpClient() { curl_easy_cleanup(easy_); }

HttpResult HttpClient::hop(const std::string& url, const std::vector<std::string>& headers,
                           const HttpBody& body) {
  Transfer transfer{.head = {}, .body = body, .idle = idle_, .thrown = {}};
  transfer.head.url = url;
  HeaderList list;
  const auto append = [&](const std::string& header) {
    curl_slist* longer = curl_slist_append(list.get(), header.c_str());
    if (longer == nullptr) throw std::bad_alloc();
    if (!list) list.reset(longer);  // else it is the same list
  };
  for (const std::string& header : headers) append(header);
  if (!token_.empty() && origin(url) == origin_) append("Authorization: Bearer " + token_);

  auto* easy = static_cast<CURL*>(easy_);
  curl_easy_reset(easy);  // connections stay
  char reason[CURL_ERROR_SIZE] = "";
  const auto set = [&](CURLoption option, auto value) {
    if (curl_easy_setopt(easy, option, value) != CURLE_OK)
      fail(ErrorCode::kUnsupported, "libcurl does not know option {}", static_cast<int>(option));
  };
  set(CURLOPT_URL, url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_USERAGENT, "gumbel/" GUMBEL_VERSION);
  set(CURLOPT_HTTPHEADER, list.get());
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  set(CURLOPT_LOW_SPEED_LIMIT, 1L);
  set(CURLOPT_LOW_SPEED_TIME, kIdleSeconds);
  set(CURLOPT_BUFFERSIZE, 256L << 10);
  set(CURLOPT_ERRORBUFFER, reason);
  set(CURLOPT_HEADERFUNCTION, &Transfer::on_header);
  set(CURLOPT_HEADERDATA, &transfer);
  set(CURLOPT_WRITEFUNCTION, &Transfer::on_body);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_NOPROGRESS, 0L);
  set(CURLOPT_XFERINFOFUNCTION, &Transfer::on_progress);
  set(CURLOPT_XFERINFODATA, &transfer);
  const CURLcode code = curl_easy_perform(easy);
  curl_easy_setopt(easy, CURLOPT_HTTPHEADER, nullptr);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, nullptr);
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);

  HttpResult result{.head = std::move(transfer.head), .failure = {}};
  if (code == CURLE_OK || transfer.stopped) return result;
  if (transfer.header_bytes > kMostHeaderBytes) {
    result.failure = fmt::format("expected headers of at most {} bytes", kMostHeaderBytes);
    return result;
  }
  result.failure = printable(reason[0] != '\0' ? reason : curl_easy_strerror(code), 200);
  result.may_retry = may_pass(code);
  return result;
}

HttpResult HttpClient::get(const std::string& url, const std::vector<std::string>& headers,
                           const HttpBody& body) {
  std::string at = url;
  for (int redirects = 0;; ++redirects) {
    HttpResult result = hop(at, headers, body);
    const int status = result.head.status;
    const bool redirected =
        status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
    if (!result.failure.empty() || !redirected) return result;
    const std::string location = result.head.header("location").value_or("");
    result.failure = redirects == kMostRedirects
                         ? fmt::format("redirected more than {} times", kMostRedirects)
                         : refused_redirect(at, location);
    if (!result.failure.empty()) return result;
    at = resolve_url(at, location).value();
  }
}

std::optional<std::string> resolve_url(const std::string& base, const std::string& reference) {
  const Url url = parse_url(base);
  if (!url || reference.empty() ||
      curl_url_set(url.get(), CURLUPART_URL, reference.c_str(), 0) != CURLUE_OK || !is_http(url))
    return std::nullopt;
  std::string text = part(url, CURLUPART_URL);
  if (text.empty()) return std::nullopt;
  return text;
}

std::string refused_redirect(const std::string& url, const std::string& location) {
  const std::optional<std::string> next = resolve_url(url, location);
  if (!next)
    return fmt::format("redirected to {}, which is no http or https URL", quote(location, 200));
  const bool stays_private = !url.starts_with("https:") || next->starts_with("https:");
  return stays_private ? "" : fmt::format("redirected from https to {}", quote(*next, 200));
}

std::string escape_url(std::string_view text) {
  constexpr std::string_view kPlain =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";
  std::string escaped;
  for (const char c : text)
    escaped += kPlain.find(c) != std::string_view::npos
                   ? std::string(1, c)
                   : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return escaped;
}

}  // namespace gumbel
