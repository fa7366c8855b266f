#include "text/jinja/string_literal.h"

#include <charconv>
#include <cstdint>

#include "base/utf8.h"
#include "text/jinja/lexer.h"

namespace gumbel::jinja {

namespace {

constexpr std::string_view kLetters = "abfnrtv\\'\"";
constexpr std::string_view kMeanings = "\a\b\f\n\r\t\v\\'\"";

class Unescape {
 public:
  Unescape(std::string_view literal, std::size_t line) : rest_(literal), line_(line) {}

  std::string run() {
    while (!rest_.empty()) {
      if (rest_.front() != '\\' || rest_.size() == 1) {
        out_.push_back(take());
        continue;
      }
      rest_.remove_prefix(1);
      read_escape(take());
    }
    return std::move(out_);
  }

 private:
  char take() {
    const char byte = rest_.front();
    rest_.remove_prefix(1);
    return byte;
  }

  void read_escape(char letter) {
    if (const std::size_t at = kLetters.find(letter); at != std::string_view::npos) {
      out_.push_back(kMeanings[at]);
    } else if (letter == 'x') {
      append_number(2, 2, 16);
    } else if (letter == 'u') {
      append_number(4, 4, 16);
    } else if (letter == 'U') {
      append_number(8, 8, 16);
    } else if (letter >= '0' && letter <= '7') {
      rest_ = std::string_view(rest_.data() - 1, rest_.size() + 1);
      append_number(1, 3, 8);
    } else if (letter == 'N') {
      fail_at(line_, "escapes by a character's name are not supported");
    } else if (letter != '\n') {
      out_.push_back('\\');
      out_.push_back(letter);
    }
  }

  void append_number(std::size_t shortest, std::size_t longest, int base) {
    const std::string_view digits = rest_.substr(0, longest);
    std::uint32_t character = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), character, base);
    const auto length = static_cast<std::size_t>(end - digits.data());
    const bool surrogate = character >= 0xD800 && character <= 0xDFFF;
    if (error != std::errc() || length < shortest || character > 0x10FFFF || surrogate)
      fail_at(line_, "an escape in a string names no character");
    append_utf8(out_, character);
    rest_.remove_prefix(length);
  }

  std::string_view rest_;
  std::size_t line_;
  std::string out_;
};

}  // namespace

std::string unescape_string(std::string_view literal, std::size_t line) {
  return Unescape(literal, line).run();
}

}  // namespace gumbel::jinja
