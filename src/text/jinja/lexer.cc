#include "text/jinja/lexer.h"

#include <fmt/format.h>
#include <gumbel/error.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/quote.h"
#include "text/jinja/characters.h"
#include "text/jinja/string_literal.h"

namespace gumbel::jinja {

namespace {

using Kind = Token::Kind;

// Longer operators before those they begin with.
constexpr std::array<std::string_view, 25> kOperators{
    "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
    "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ","};

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

// Bytes above 0x7F are parts of letters for all that a name needs.
bool is_name_byte(char byte) {
  return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         byte == '_' || static_cast<unsigned char>(byte) >= 0x80;
}

// One line feed ends a line, and the last one of the source is not a part of it.
std::string normalize_line_ends(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t at = 0; at < source.size(); ++at) {
    if (source[at] != '\r') {
      out.push_back(source[at]);
      continue;
    }
    out.push_back('\n');
    if (at + 1 < source.size() && source[at + 1] == '\n') ++at;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(normalize_line_ends(source)) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) {
      const std::size_t tag = find_tag();
      const std::string_view text = view().substr(at_, tag - at_);
      if (tag == source_.size()) {
        add_text(text);
        advance(tag);
        break;
      }
      read_tag(text, tag);
    }
    tokens_.push_back({Kind::kEnd, {}, line_});
    return std::move(tokens_);
  }

 private:
  std::string_view view() const { return source_; }
  std::string_view rest() const { return view().substr(at_); }

  // Where the next {{, {% or {# is, or the end.
  std::size_t find_tag() const {
    for (std::size_t at = at_;; ++at) {
      at = source_.find('{', at);
      if (at == std::string::npos || at + 1 == source_.size()) return source_.size();
      const char next = source_[at + 1];
      if (next == '{' || next == '%' || next == '#') return at;
    }
  }

  void advance(std::size_t to) {
    line_ += static_cast<std::size_t>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                                 source_.begin() + static_cast<std::ptrdiff_t>(to),
                                                 '\n'));
    if (to > at_) line_starting_ = source_[to - 1] == '\n';
    at_ = to;
  }

  void add_text(std::string_view text) {
    if (!text.empty()) tokens_.push_back({Kind::kText, std::string(text), line_});
  }

  // `text` before a tag, as the tag's sign and lstrip_blocks leave it.
  std::string_view before_tag(std::string_view text, char sign, bool is_print) const {
    if (sign == '-') return strip_white_space(text, Side::kRight);
    if (sign == '+' || is_print) return text;
    const std::size_t line_feed = text.rfind('\n');
    if (line_feed == std::string_view::npos && !line_starting_) return text;
    const std::size_t line = line_feed == std::string_view::npos ? 0 : line_feed + 1;
    return strip_white_space(text.substr(line), Side::kLeft).empty() ? text.substr(0, line) : text;
  }

  void read_tag(std::string_view text, std::size_t tag) {
    const char kind = source_[tag + 1];
    const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
    const bool has_sign = sign == '-' || sign == '+';
    add_text(before_tag(text, has_sign ? sign : '\0', kind == '{'));
    advance(tag + (has_sign ? 3 : 2));
    if (kind == '#') return skip_comment();
    if (kind == '%' && read_raw()) return;
    const std::size_t line = line_;
    tokens_.push_back({kind == '%' ? Kind::kBlockBegin : Kind::kPrintBegin, {}, line});
    read_inside(kind == '%' ? "%}" : "}}", line);
    tokens_.push_back({kind == '%' ? Kind::kBlockEnd : Kind::kPrintEnd, {}, line_});
  }

  // Past the white space and the line feed that the end of a tag takes with it.
  void end_tag(std::size_t end, char sign, bool is_print) {
    std::size_t to = end;
    if (sign == '-') {
      to = source_.size() - strip_white_space(view().substr(end), Side::kLeft).size();
    } else if (sign != '+' && !is_print && to < source_.size() && source_[to] == '\n') {
      ++to;
    }
    advance(to);
  }

  void skip_comment() {
    const std::size_t end = source_.find("#}", at_);
    if (end == std::string::npos) fail_at(line_, "a comment has no end #}");
    const char sign = end > at_ ? source_[end - 1] : '\0';
    end_tag(end + 2, sign, false);
  }

  // What stands at `at` if it is the end of a block whose word was `word`: white space, a sign.
  struct RawTag {
    std::size_t end;
    char sign;
  };
  std::optional<RawTag> match_raw_tag(std::size_t at, std::string_view word) const {
    std::string_view text = strip_white_space(view().substr(at), Side::kLeft);
    if (!text.starts_with(word)) return std::nullopt;
    text = strip_white_space(text.substr(word.size()), Side::kLeft);
    const char sign = text.empty() ? '\0' : text.front();
    const bool has_sign = sign == '-' || sign == '+';
    if (has_sign) text.remove_prefix(1);
    if (!text.starts_with("%}")) return std::nullopt;
    return RawTag{source_.size() - text.size() + 2, has_sign ? sign : '\0'};
  }

  bool read_raw() {
    const std::optional<RawTag> begin = match_raw_tag(at_, "raw");
    if (!begin || begin->sign == '+') return false;
    const std::size_t line = line_;
    // The line feed after {% raw %} stays.
    end_tag(begin->end, begin->sign == '-' ? '-' : '+', false);
    for (std::size_t tag = at_;; ++tag) {
      tag = source_.find("{%", tag);
      if (tag == std::string::npos) fail_at(line, "a raw block has no endraw");
      const char sign = tag + 2 < source_.size() ? source_[tag + 2] : '\0';
      const bool has_sign = sign == '-' || sign == '+';
      const std::optional<RawTag> end = match_raw_tag(tag + (has_sign ? 3 : 2), "endraw");
      if (!end) continue;
      add_text(before_tag(view().substr(at_, tag - at_), has_sign ? sign : '\0', false));
      end_tag(end->end, end->sign, false);
      return true;
    }
  }

  void read_inside(std::string_view end, std::size_t line) {
    std::vector<char> open;
    for (;;) {
      const std::string_view stripped = strip_white_space(rest(), Side::kLeft);
      advance(source_.size() - stripped.size());
      if (stripped.empty()) fail_at(line, fmt::format("a tag has no end {}", end));
      if (open.empty()) {
        const char sign = stripped.front();
        const bool is_print = end == "}}";
        const bool has_sign = sign == '-' || (sign == '+' && !is_print);
        if (stripped.substr(has_sign ? 1 : 0).starts_with(end))
          return end_tag(at_ + (has_sign ? 3 : 2), has_sign ? sign : '\0', is_print);
      }
      read_token(open);
    }
  }

  void read_token(std::vector<char>& open) {
    const char first = source_[at_];
    if (first == '"' || first == '\'') return read_string();
    if (is_digit(first)) return read_number();
    if (is_name_byte(first)) {
      std::size_t end = at_;
      while (end < source_.size() && is_name_byte(source_[end])) ++end;
      return add(Kind::kName, std::string(view().substr(at_, end - at_)), end);
    }
    for (const std::string_view spelling : kOperators) {
      if (!rest().starts_with(spelling)) continue;
      match_brackets(open, spelling.front());
      return add(Kind::kOperator, std::string(spelling), at_ + spelling.size());
    }
    fail_at(line_, fmt::format("unexpected {}", quote(rest(), 8)));
  }

  void match_brackets(std::vector<char>& open, char bracket) const {
    switch (bracket) {
      case '(':
        return open.push_back(')');
      case '[':
        return open.push_back(']');
      case '{':
        return open.push_back('}');
      case ')':
      case ']':
      case '}':
        if (open.empty() || open.back() != bracket)
          fail_at(line_, fmt::format("{} closes nothing", quote(std::string(1, bracket))));
        return open.pop_back();
      default:
        return;
    }
  }

  void add(Kind kind, std::string text, std::size_t end) {
    tokens_.push_back({kind, std::move(text), line_});
    advance(end);
  }

  void read_string() {
    const char mark = source_[at_];
    std::size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != mark) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) fail_at(line_, "a string has no end");
    add(Kind::kString, unescape_string(view().substr(at_ + 1, end - at_ - 1), line_), end + 1);
  }

  // The end of digits from `at`, between which an underscore may stand.
  std::size_t skip_digits(std::size_t at) const {
    while (at < source_.size() &&
           (is_digit(source_[at]) ||
            (source_[at] == '_' && at + 1 < source_.size() && is_digit(source_[at + 1]))))
      ++at;
    return at;
  }

  bool digit_at(std::size_t at) const { return at < source_.size() && is_digit(source_[at]); }

  void read_number() {
    std::size_t end = skip_digits(at_);
    Kind kind = Kind::kInteger;
    const char base = end == at_ + 1 && source_[at_] == '0' && end < source_.size()
                          ? static_cast<char>(source_[end] | 0x20)
                          : '\0';
    if (base == 'x' || base == 'o' || base == 'b') {
      ++end;
      while (end < source_.size() && is_name_byte(source_[end])) ++end;
    } else if (at_ == 0 || source_[at_ - 1] != '.') {  // x.0.1 are two items, no fraction
      if (end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
        kind = Kind::kFloat;
        end = skip_digits(end + 1);
      }
      if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
        std::size_t digits = end + 1;
        if (digits < source_.size() && (source_[digits] == '+' || source_[digits] == '-')) ++digits;
        if (digit_at(digits)) {
          kind = Kind::kFloat;
          end = skip_digits(digits);
        }
      }
    }
    std::string digits(view().substr(at_, end - at_));
    std::erase(digits, '_');
    add(kind, std::move(digits), end);
  }

  std::string source_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
  bool line_starting_ = true;  // what was last read ended a line
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(source).run(); }

void fail_at(std::size_t line, std::string_view message) {
  throw Error(ErrorCode::kInvalidArgument,
              fmt::format("chat template, line {}: {}", line, message));
}

}  // namespace gumbel::jinja
