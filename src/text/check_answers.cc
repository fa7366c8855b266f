#include "text/check_answers.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/quote.h"

namespace gumbel {
namespace {

// The ids from the first difference on, at most eight.
std::string ids_from(const std::vector<std::int64_t>& ids, std::size_t first) {
  const std::size_t end = std::min(ids.size(), first + 8);
  const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(std::min(first, end));
  return fmt::format("[{}]",
                     fmt::join(begin, ids.begin() + static_cast<std::ptrdiff_t>(end), ", "));
}

// What is wrong with one answer; empty if nothing is.
std::string difference(const Tokenizer& tokenizer, const JsonFields& answer, std::int64_t line) {
  if (!answer.has("text") || !answer.has("ids"))
    fail(ErrorCode::kCorruptFile, "{}: expected \"text\" and \"ids\"", answer.where());
  const std::string text = answer.string_or("text", "");
  answer.array("ids");  // one integer alone is no list of them
  const std::vector<std::int64_t> expected = answer.integer_or_list("ids").value();
  const std::optional<std::string> expected_text = answer.string("decoded");
  const std::vector<std::int64_t> ids =
      tokenizer.encode(text, expected_text ? ControlTokens::kParse : ControlTokens::kPlain);
  if (ids != expected) {
    const auto first = static_cast<std::size_t>(
        std::mismatch(ids.begin(), ids.end(), expected.begin(), expected.end()).first -
        ids.begin());
    return fmt::format("line {}: {}: expected {} ids, got {}; from id {} on: expected {}, got {}",
                       line, quote(text), expected.size(), ids.size(), first,
                       ids_from(expected, first), ids_from(ids, first));
  }
  if (!expected_text) return {};
  const std::string decoded = tokenizer.decode(ids);
  if (decoded == expected_text) return {};
  return fmt::format("line {}: {}: expected the decoding {}, got {}", line, quote(text),
                     quote(*expected_text), quote(decoded));
}

}  // namespace

CheckResult check_answers(const Tokenizer& tokenizer, std::istream& answers) {
  CheckResult result;
  std::string text;
  for (std::int64_t line = 1; std::getline(answers, text); ++line) {
    if (text.empty()) continue;
    const std::string where = fmt::format("answers, line {}", line);
    const nlohmann::json answer = parse_json_object(text, where);
    const std::string wrong = difference(tokenizer, JsonFields(answer, where), line);
    ++result.checked;
    if (wrong.empty()) continue;
    if (result.mismatched++ == 0) result.first_mismatch = wrong;
  }
  return result;
}

}  // namespace gumbel
