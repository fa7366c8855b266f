// Bringing the pages of a mapped file in before they are touched.
#pragma once

#include <cstddef>
#include <span>
#include <thread>

namespace gumbel {

/// Maps the pages of a range in the background, in ascending order, so that what reads them later
/// does not stop at each for the system to find it: random experts of a large model would for
/// hundreds of tokens. Nothing depends on it: where the system lacks the call or refuses it, pages
/// come when they are touched.
class PagePopulator {
 public:
  PagePopulator() = default;
  /// `mapped` must stay mapped while this lives.
  explicit PagePopulator(std::span<const std::byte> mapped);

 private:
  std::jthread thread_;  // its destructor asks it to stop and waits, for one step at most
};

}  // namespace gumbel
