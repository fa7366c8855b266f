#include "hub/retry.h"

#include <algorithm>
#include <string_view>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

namespace gumbel {
namespace {

using std::chrono::milliseconds;

std::string_view advice(int status, bool has_token) {
  switch (status) {
    case 401:
    case 403:
      return has_token
                 ? ": no such model, or HF_TOKEN's owner may not read it; its page may ask to "
                   "accept a licence"
                 : ": no such model, or one that asks for a token: set HF_TOKEN, and accept "
                   "the licence on its page";
    case 404:
      return ": no such model or file";
    case 429:
      return ": too many requests; try again later";
    default:
      return status >= 500 ? ": the server failed; try again later" : "";
  }
}

}  // namespace

bool is_temporary(const HttpResult& result) {
  const int status = result.head.status;
  return result.failure.empty() ? status == 408 || status == 429 || status >= 500
                                : result.may_retry;
}

Retries::Retries(const RetryPolicy& policy, std::function<void()> idle)
    : policy_(policy), idle_(std::move(idle)) {}

bool Retries::wait(const HttpResult& result) {
  if (!is_temporary(result) || ++failed_ >= policy_.attempts) return false;
  // Doubled at most 16 times: no overflow.
  milliseconds wait = policy_.first_wait * (1 << std::min(failed_ - 1, 16));
  // A number of at most 18 digits; the least with the cap in seconds keeps the product in range.
  if (const auto asked = result.head.number("retry-after"); asked && result.failure.empty()) {
    const auto cap = static_cast<uint64_t>(policy_.longest_wait.count());
    wait = std::max(wait, milliseconds(std::min(*asked, cap / 1000 + 1) * 1000));
  }
  const auto end = std::chrono::steady_clock::now() + std::min(wait, policy_.longest_wait);
  while (true) {
    if (idle_) idle_();
    const auto left = end - std::chrono::steady_clock::now();
    if (left.count() <= 0) return true;
    std::this_thread::sleep_for(
        std::min<std::chrono::steady_clock::duration>(left, milliseconds(100)));
  }
}

void fail_request(const std::string& model, const HttpClient& client, const HttpResult& result) {
  const int status = result.head.status;
  const std::string url = printable(result.head.url, 300);
  if (!result.failure.empty()) fail(ErrorCode::kIo, "{}: {}: {}", model, url, result.failure);
  const std::string said = result.head.header("x-error-message").value_or("");
  fail(status == 404 ? ErrorCode::kNotFound : ErrorCode::kIo, "{}: {}: status {}{}{}", model, url,
       status, advice(status, client.has_token()),
       said.empty() ? "" : fmt::format(" (the server says {})", quote(said, 160)));
}

}  // namespace gumbel
