// Trying again what may succeed later.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "hub/http.h"

namespace gumbel {

struct RetryPolicy {
  int attempts = 6;                           ///< in all
  std::chrono::milliseconds first_wait{500};  ///< before the second attempt; doubled after each
  std::chrono::milliseconds longest_wait{60'000};
};

/// Whether the request may succeed later: a cut connection, or status 408, 429 or 500 and above.
bool is_temporary(const HttpResult& result);

/// The attempts at one thing.
class Retries {
 public:
  /// `idle` is called about ten times a second while waiting; what it throws ends the wait.
  Retries(const RetryPolicy& policy, std::function<void()> idle);

  /// Called after a failed attempt: waits, and returns true where there is to be another. A server
  /// that says how long (Retry-After, in seconds) is heeded, up to the longest wait.
  bool wait(const HttpResult& result);
  /// Counts anew: the last attempt got on.
  void restart() { failed_ = 0; }

 private:
  RetryPolicy policy_;
  std::function<void()> idle_;
  int failed_ = 0;
};

/// Throws the Error that says what URL, what went wrong, and what the user can do; `model` is that
/// of the user, e.g. "hf:OWNER/NAME". kNotFound for status 404, else kIo.
[[noreturn]] void fail_request(const std::string& model, const HttpClient& client,
                               const HttpResult& result);

}  // namespace gumbel
