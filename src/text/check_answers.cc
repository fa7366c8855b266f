#include "text/check_answers.h"

#include <fmt/ranges.h>

#include "base/error.h"
#include "text/json_fields.h"
#include "text/quote.h"

namespace gumbel {
namespace {

using nlohmann::json;

std::vector<std::int64_t> read_ids(const json& answer, std::int64_t line) {
  std::vector<std::int64_t> ids;
  for (const json& id : json_array(answer, "ids")) {
    if (!id.is_number_integer()) {
      fail(ErrorCode::kCorruptFile, "answers, line {}: \"ids\" must be integers", line);
    }
    ids.push_back(id.get<std::int64_t>());
  }
  return ids;
}

// The ids from the first difference on, at most eight.
std::string ids_from(const std::vector<std::int64_t>& ids, std::size_t first) {
  const std::size_t end = std::min(ids.size(), first + 8);
  const auto begin = ids.begin() + static_cast<std::ptrdiff_t>(std::min(first, end));
  return fmt::format("[{}]",
                     fmt::join(begin, ids.begin() + static_cast<std::ptrdiff_t>(end), ", "));
}

// What is wrong with one answer; empty if nothing is.
std::string difference(const Tokenizer& tokenizer, const json& answer, std::int64_t line) {
  if (!json_field(answer, "text").is_string() || !json_field(answer, "ids").is_array()) {
    fail(ErrorCode::kCorruptFile, "answers, line {}: expected \"text\" and \"ids\"", line);
  }
  const std::string text = json_string(answer, "text");
  const bool checks_decoding = !json_field(answer, "decoded").is_null();
  const std::vector<std::int64_t> expected = read_ids(answer, line);
  const std::vector<std::int64_t> ids =
      tokenizer.encode(text, checks_decoding ? ControlTokens::kParse : ControlTokens::kPlain);
  if (ids != expected) {
    const auto first = static_cast<std::size_t>(
        std::mismatch(ids.begin(), ids.end(), expected.begin(), expected.end()).first -
        ids.begin());
    return fmt::format("line {}: {}: expected {} ids, got {}; from id {} on: expected {}, got {}",
                       line, quote_text(text), expected.size(), ids.size(), first,
                       ids_from(expected, first), ids_from(ids, first));
  }
  if (!checks_decoding) return {};
  const std::string expected_text = json_string(answer, "decoded");
  const std::string decoded = tokenizer.decode(ids);
  if (decoded == expected_text) return {};
  return fmt::format("line {}: {}: expected the decoding {}, got {}", line, quote_text(text),
                     quote_text(expected_text), quote_text(decoded));
}

}  // namespace

CheckResult check_answers(const Tokenizer& tokenizer, std::istream& answers) {
  CheckResult result;
  std::string text;
  for (std::int64_t line = 1; std::getline(answers, text); ++line) {
    if (text.empty()) continue;
    const json answer = parse_json_object(text, fmt::format("answers, line {}", line).c_str());
    const std::string wrong = difference(tokenizer, answer, line);
    ++result.checked;
    if (wrong.empty()) continue;
    if (result.mismatched++ == 0) result.first_mismatch = wrong;
  }
  return result;
}

}  // namespace gumbel
