// A template's source as tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gumbel::jinja {

struct Token {
  enum class Kind : std::uint8_t {
    kText,        ///< Between tags: `text` is printed as it is.
    kBlockBegin,  ///< {%
    kBlockEnd,    ///< %}
    kPrintBegin,  ///< {{
    kPrintEnd,    ///< }}
    kName,        ///< Keywords too.
    kString,      ///< `text` is what the literal means.
    kInteger,     ///< `text` is the literal's digits, with their 0x, 0o or 0b and without _.
    kFloat,       ///< Likewise.
    kOperator,    ///< `text` is the operator or the bracket.
    kEnd,         ///< Of the source: the last token.
  };
  Kind kind;
  std::string text;
  std::size_t line;  ///< From 1.

  /// Whether this is the operator `spelling`.
  bool is(std::string_view spelling) const { return kind == Kind::kOperator && text == spelling; }
  /// Whether this is the word `word`.
  bool is_word(std::string_view word) const { return kind == Kind::kName && text == word; }
};

/// The tokens of `source` with trim_blocks, lstrip_blocks and the whitespace control of tags
/// applied, comments left out and raw blocks as text. Tags and brackets match. Throws
/// Error(kInvalidArgument) with the line. (Jinja2 3.1, lexer.py, has no specification beside it;
/// its documentation is "Template Designer Documentation", Whitespace Control.)
std::vector<Token> tokenize(std::string_view source);

/// Throws Error(kInvalidArgument) that names the line of the template.
[[noreturn]] void fail_at(std::size_t line, std::string_view message);

}  // namespace gumbel::jinja
