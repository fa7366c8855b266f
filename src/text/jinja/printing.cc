#include "text/jinja/printing.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <array>
#include <charconv>
#include <cmath>

namespace gumbel::jinja {

namespace {

// Python's str.isprintable() of one character.
bool is_printable(char32_t character) {
  if (character == U' ') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(character))) {
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
      return false;
    default:
      return true;
  }
}

std::string escape(char32_t character) {
  switch (character) {
    case U'\n':
      return "\\n";
    case U'\r':
      return "\\r";
    case U'\t':
      return "\\t";
    default:
      break;
  }
  const auto code = static_cast<std::uint32_t>(character);
  if (code <= 0xFF) return fmt::format("\\x{:02x}", code);
  return code <= 0xFFFF ? fmt::format("\\u{:04x}", code) : fmt::format("\\U{:08x}", code);
}

class Printer {
 public:
  explicit Printer(Budget& budget) : budget_(budget) {}

  Text str(const Value& value) {
    if (const auto* text = get_if<Text>(value)) {
      budget_.take_bytes(text->size());
      return *text;
    }
    if (!is_undefined(value)) print(value);
    return std::move(out_);
  }

 private:
  void add(std::string_view bytes, Origin origin = Origin::kTemplate) {
    budget_.take_bytes(bytes.size());
    out_.append(bytes, origin);
  }

  void print(const Value& value) {
    budget_.take_steps();
    if (const auto* text = get_if<Text>(value)) return print_string(*text);
    if (const auto* list = get_if<List>(value)) return print_list(*list);
    if (const auto* dict = get_if<Dict>(value)) return print_dict(*dict);
    if (const auto* boolean = get_if<bool>(value)) return add(*boolean ? "True" : "False");
    if (const auto* integer = get_if<std::int64_t>(value)) return add(std::to_string(*integer));
    if (const auto* number = get_if<double>(value)) return add(spell_number(*number));
    if (is_none(value)) return add("None");
    if (is_undefined(value)) return add("Undefined");
    add(fmt::format("<{}>", type_name(value)));
  }

  void print_string(const Text& text) {
    const bool has_single = text.view().find('\'') != std::string_view::npos;
    const bool has_double = text.view().find('"') != std::string_view::npos;
    const char mark = has_single && !has_double ? '"' : '\'';
    add({&mark, 1});
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view rest = text.view().substr(at);
      const std::size_t length = first_length(rest);
      const char32_t character = first_character(rest);
      const Origin origin = text.origin_at(at);
      if (character == U'\\' || character == static_cast<char32_t>(mark)) {
        add("\\", origin);
        add(rest.substr(0, length), origin);
      } else if (is_printable(character)) {
        add(rest.substr(0, length), origin);
      } else {
        add(escape(character), origin);
      }
      at += length;
    }
    add({&mark, 1});
  }

  void print_list(const List& list) {
    if (list.kind == List::Kind::kIterable)
      refuse("what is made to be gone through is printed: it needs the filter 'list'");
    const bool is_tuple = list.kind == List::Kind::kTuple;
    add(is_tuple ? "(" : "[");
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i != 0) add(", ");
      print(list.items[i]);
    }
    if (is_tuple && list.items.size() == 1) add(",");
    add(is_tuple ? ")" : "]");
  }

  void print_dict(const Dict& dict) {
    add("{");
    for (std::size_t i = 0; i < dict.items.size(); ++i) {
      if (i != 0) add(", ");
      print(dict.items[i].first);
      add(": ");
      print(dict.items[i].second);
    }
    add("}");
  }

  Budget& budget_;
  Text out_;
};

}  // namespace

Text to_text(const Value& value, Budget& budget) { return Printer(budget).str(value); }

std::string spell_number(double number) {
  if (std::isnan(number)) return "nan";
  if (std::isinf(number)) return number < 0 ? "-inf" : "inf";
  std::array<char, 32> buffer;
  const auto written = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number,
                                     std::chars_format::scientific);
  const std::string_view spelling(buffer.data(),
                                  static_cast<std::size_t>(written.ptr - buffer.data()));
  const std::size_t e = spelling.find('e');
  int exponent = 0;
  // from_chars reads a minus sign but no plus sign.
  const char* const digits = spelling.data() + e + (spelling[e + 1] == '+' ? 2 : 1);
  std::from_chars(digits, written.ptr, exponent);
  // Python's repr() counts exponents of -4 to 15 out in digits.
  if (exponent < -4 || exponent >= 16) return std::string(spelling);
  const auto end =
      std::to_chars(buffer.data(), buffer.data() + buffer.size(), number, std::chars_format::fixed);
  std::string fixed(buffer.data(), end.ptr);
  if (fixed.find('.') == std::string::npos) fixed += ".0";
  return fixed;
}

}  // namespace gumbel::jinja
