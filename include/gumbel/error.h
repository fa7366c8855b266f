// The one error type of Gumbel.
#pragma once

#include <stdexcept>
#include <string>

namespace gumbel {

/// What kind of thing went wrong; the message has the particulars.
enum class ErrorCode {
  kInvalidArgument,  ///< A parameter is outside the range the message states.
  kNotFound,         ///< A file, tensor or metadata key that must exist does not.
  kCorruptFile,      ///< An input file contradicts its own format.
  kUnsupported,      ///< Well-formed, but an architecture, type or feature Gumbel does not have.
  kIo,               ///< The operating system refused to read, write or map.
  kFailedState,      ///< The object failed earlier and must be reset before further use.
  kNumeric,          ///< A row of logits held a NaN or had every token banned.
};

/// Thrown by every public function that can fail. `what()` is one line: what was expected, what
/// came, and where.
class Error : public std::runtime_error {
 public:
  Error(ErrorCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ErrorCode code() const noexcept { return code_; }

 private:
  ErrorCode code_;
};

}  // namespace gumbel
