// Ending a stream of text at the first of some strings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gumbel {

/// Passes text on up to the first occurrence of a stop string. Text that may be the beginning of
/// one is held back until that is settled, so that no part of a stop string is given out.
class StopMatcher {
 public:
  /// Empty strings are ignored.
  explicit StopMatcher(std::vector<std::string> stops);

  /// The text that `text` settles. After a stop string nothing more is given.
  std::string add(std::string_view text);
  /// What was held back, at the end of the stream.
  std::string finish();
  /// Whether a stop string has occurred.
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace gumbel
