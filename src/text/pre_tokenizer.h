// Splits text into the pieces that byte-pair encoding never merges across.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "text/tokenizer_definition.h"

namespace gumbel {

/// A stretch of a text, in bytes.
struct TextRange {
  std::size_t begin, end;
};

/// The compiled steps of a pre-tokenizer. Patterns are PCRE2's; `\s` means White_Space, as it does
/// elsewhere, so without U+180E. Matching is compiled to machine code where the system permits,
/// never recurses, and is limited in its work per match.
class PreTokenizer {
 public:
  /// Throws Error(kUnsupported) with PCRE2's message for a pattern it does not accept.
  explicit PreTokenizer(std::span<const SplitStep> steps);
  ~PreTokenizer();
  PreTokenizer(PreTokenizer&&) noexcept;
  PreTokenizer& operator=(PreTokenizer&&) noexcept;

  /// The pieces of `text`, valid UTF-8, in order; none is empty. Without steps, the text is one
  /// piece. Throws Error(kInvalidArgument) where a match exceeds the limit of work.
  std::vector<TextRange> split(std::string_view text) const;

 private:
  struct Step;
  std::vector<Step> steps_;
};

}  // namespace gumbel
