// Token ids to text, one at a time, in whole characters.
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace gumbel {

struct DetokenizerOptions {
  bool show_control = false;  ///< Give control tokens by name instead of leaving them out.
  /// The first token begins a text (it does not continue a prompt): the space that the tokenizer
  /// puts before a text is taken off again.
  bool at_text_start = false;
};

/// Turns a stream of tokens into text and never gives half a character: bytes are held back until
/// the character is whole. Bytes that cannot become one are given as U+FFFD, one for each maximal
/// invalid part (Unicode 15, section 3.9), so that what is given is always valid UTF-8.
class Detokenizer {
 public:
  /// `tokenizer` must outlive the detokenizer.
  explicit Detokenizer(const Tokenizer& tokenizer, DetokenizerOptions options = {});

  /// The characters that `id` completes; may be empty. Throws Error(kInvalidArgument) for an id
  /// outside the vocabulary and is then as before.
  std::string add(std::int64_t id);

  /// The end of the stream: what was held back, as U+FFFD, or nothing. Ready for a new stream.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  DetokenizerOptions options_;
  bool at_start_;
  std::string pending_;
};

}  // namespace gumbel
