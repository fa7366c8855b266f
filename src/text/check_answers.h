// Compares a tokenizer with stored answers.
#pragma once

#include <cstdint>
#include <istream>
#include <string>

#include "text/tokenizer.h"

namespace gumbel {

struct CheckResult {
  std::int64_t checked = 0;     ///< Lines read.
  std::int64_t mismatched = 0;  ///< Lines whose ids or decoding differ.
  std::string first_mismatch;   ///< One line: which line, what was expected, what came; or empty.
};

/// Reads JSON lines {"text", "ids"} or {"text", "ids", "decoded"}. With `decoded`, control tokens
/// in the text are parsed and the decoding of `ids` is compared too; without it, the text is plain.
/// BOS is never added. Throws Error(kCorruptFile) that names a line which is no such JSON.
CheckResult check_answers(const Tokenizer& tokenizer, std::istream& answers);

}  // namespace gumbel
