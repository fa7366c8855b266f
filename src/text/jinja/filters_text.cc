#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "text/jinja/arguments.h"
#include "text/jinja/attributes.h"
#include "text/jinja/filters.h"
#include "text/jinja/json.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_functions.h"

namespace gumbel::jinja {

namespace {

Value trim(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("trim", arguments, {"chars"});
  std::optional<std::string> characters;
  if (given.find_some(0) != nullptr) characters = given.text(0).view();
  return make_value(strip(to_text(value, budget), Side::kBoth, characters));
}

template <Case wanted>
Value to_case(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("a change of case", arguments, {});
  return make_value(change_case(to_text(value, budget), wanted, budget));
}

// Unlike str.title, words begin after white space, hyphens and opening brackets alone.
Value title(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("title", arguments, {});
  const Text text = to_text(value, budget);
  const auto begins_word = [](char32_t character) {
    return is_space(character) ||
           std::u32string_view(U"-({[<").find(character) != std::u32string_view::npos;
  };
  Text out;
  bool begins = true;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = first_length(text.view().substr(at));
    const Case wanted = begins ? Case::kUpper : Case::kLower;
    out.append(change_case(text.slice(at, at + length), wanted, budget));
    begins = begins_word(first_character(text.view().substr(at)));
    at += length;
  }
  return make_value(std::move(out));
}

Value replace_parts(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("replace", arguments, {"old", "new", "count"});
  const std::int64_t count = given.find_some(2) == nullptr ? -1 : given.integer(2);
  return make_value(replace(to_text(value, budget), to_text(given.get(0), budget),
                            to_text(given.get(1), budget),
                            count < 0 ? kAll : static_cast<std::size_t>(count), budget));
}

// Lines after the first, and blank ones if told, begin with the indent.
Value indent(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("indent", arguments, {"width", "first", "blank"});
  const auto* text = get_if<Text>(value);
  if (text == nullptr) refuse(fmt::format("{} cannot be indented", type_name(value)));
  const auto* by_text = given.find(0) == nullptr ? nullptr : get_if<Text>(given.get(0));
  const Text by = by_text != nullptr ? *by_text : repeat(Text(" "), given.integer(0, 4), budget);
  const bool indents_first = given.is_true(1, false);
  const bool indents_blank = given.is_true(2, false);
  // A line feed is added, so that one which ends the text stays.
  Text whole = *text;
  whole.append("\n", Origin::kTemplate);
  const std::vector<Value> lines = split_lines(whole, false, budget);
  Text out;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const Text& line = *get_if<Text>(lines[i]);
    if (i != 0) out.append("\n", Origin::kTemplate);
    if (i == 0 ? indents_first : indents_blank || !line.empty()) {
      budget.take_bytes(by.size());
      out.append(by);
    }
    out.append(line);
  }
  return make_value(std::move(out));
}

Value to_string(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("string", arguments, {});
  return make_value(to_text(value, budget));
}

Value default_for(const Value& value, const Arguments& arguments, Budget& /*budget*/) {
  const BoundArguments given("default", arguments, {"default_value", "boolean"});
  const bool is_missing = is_undefined(value) || (given.is_true(1, false) && !is_true(value));
  return is_missing ? given.get(0, make_value(Text())) : value;
}

JsonFormat json_format(const BoundArguments& given, Budget& budget) {
  JsonFormat format;
  if (given.find_some(0) != nullptr) {
    const auto* text = get_if<Text>(given.get(0));
    format.indent =
        text != nullptr ? text->view() : repeat(Text(" "), given.integer(0), budget).view();
    format.item_separator.assign(1, ',');  // no space before a line feed
  }
  if (given.find_some(1) != nullptr) {
    const std::vector<Value> both = items_of(given.get(1), budget);
    const Text* item = both.size() == 2 ? get_if<Text>(both[0]) : nullptr;
    const Text* key = both.size() == 2 ? get_if<Text>(both[1]) : nullptr;
    if (item == nullptr || key == nullptr) given.refuse_type(1, "two strings");
    format.item_separator = item->view();
    format.key_separator = key->view();
  }
  format.sort_keys = given.is_true(2, false);
  format.ascii = given.is_true(3, false);
  return format;
}

Value tojson(const Value& value, const Arguments& arguments, Budget& budget) {
  // The order is that of transformers' own filter: tojson(ensure_ascii, indent, ...).
  const BoundArguments given("tojson", arguments,
                             {"ensure_ascii", "indent", "separators", "sort_keys"});
  Arguments reordered;
  for (const auto& [place, name] : {std::pair{1, "indent"}, std::pair{2, "separators"},
                                    std::pair{3, "sort_keys"}, std::pair{0, "ensure_ascii"}})
    if (const Value* argument = given.find(static_cast<std::size_t>(place)))
      reordered.named.emplace_back(name, *argument);
  const BoundArguments ordered("tojson", reordered,
                               {"indent", "separators", "sort_keys", "ensure_ascii"});
  return make_value(to_json(value, json_format(ordered, budget), budget));
}

std::int64_t whole(double number) {
  // 2^63 is the first number beyond; -2^63 is one of the integers.
  if (!(number >= -0x1p63 && number < 0x1p63)) refuse("a number exceeds 64 bits");
  return static_cast<std::int64_t>(number);
}

// Python's float() of a string, or nothing.
std::optional<double> read_float(std::string_view text) {
  text = strip_white_space(text, Side::kBoth);
  std::string digits;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto is_digit = [&](std::size_t at) {
      return at < text.size() && text[at] >= '0' && text[at] <= '9';
    };
    if (text[i] != '_') {
      digits.push_back(text[i]);
    } else if (i == 0 || !is_digit(i - 1) || !is_digit(i + 1)) {
      return std::nullopt;
    }
  }
  std::string_view rest = digits;
  if (rest.starts_with('+') && !rest.starts_with("+-")) rest.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), number);
  if (end != rest.data() + rest.size() || rest.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range)
    return rest.find("e-") != std::string_view::npos ? 0.0
                                                     : std::numeric_limits<double>::infinity();
  if (error != std::errc()) return std::nullopt;
  return number;
}

// Python's int() of a string in a base, or nothing.
std::optional<std::int64_t> read_integer(std::string_view text, std::int64_t base) {
  text = strip_white_space(text, Side::kBoth);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  static constexpr std::pair<std::string_view, int> kPrefixes[]{{"0x", 16}, {"0X", 16}, {"0o", 8},
                                                                {"0O", 8},  {"0b", 2},  {"0B", 2}};
  for (const auto& [prefix, of_base] : kPrefixes) {
    if (base == of_base && text.starts_with(prefix)) text.remove_prefix(2);
  }
  std::string digits(negative ? 1 : 0, '-');
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      digits.push_back(text[i]);
    } else if (i == 0 || i + 1 == text.size() || text[i + 1] == '_') {
      return std::nullopt;
    }
  }
  if (text.empty() || text.front() == '-') return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, static_cast<int>(base));
  if (end != digits.data() + digits.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) refuse("a number exceeds 64 bits");
  if (error != std::errc()) return std::nullopt;
  return number;
}

Value to_integer(const Value& value, const Arguments& arguments, Budget& /*budget*/) {
  const BoundArguments given("int", arguments, {"default", "base"});
  const std::int64_t base = given.integer(1, 10);
  if (base < 2 || base > 36) refuse("the base of an integer is 2 to 36");
  if (const auto integer = as_integer(value)) return Value(*integer);
  if (const auto* number = get_if<double>(value)) return Value(whole(*number));
  if (const auto* missing = get_if<Undefined>(value)) refuse(missing->what);
  if (const auto* text = get_if<Text>(value)) {
    if (const auto integer = read_integer(text->view(), base)) return Value(*integer);
    const auto number = read_float(text->view());
    if (number && std::isfinite(*number)) return Value(whole(*number));
  }
  return given.get(0, Value(std::int64_t{0}));
}

Value to_float(const Value& value, const Arguments& arguments, Budget& /*budget*/) {
  const BoundArguments given("float", arguments, {"default"});
  if (const auto number = as_number(value)) return Value(*number);
  if (const auto* missing = get_if<Undefined>(value)) refuse(missing->what);
  if (const auto* text = get_if<Text>(value))
    if (const auto number = read_float(text->view())) return Value(*number);
  return given.get(0, Value(0.0));
}

Value absolute(const Value& value, const Arguments& arguments, Budget& /*budget*/) {
  const BoundArguments given("abs", arguments, {});
  if (const auto* number = get_if<double>(value)) return Value(std::fabs(*number));
  const auto integer = as_integer(value);
  if (!integer) refuse(fmt::format("{} has no absolute value", type_name(value)));
  return *integer < 0 ? sign(Unary::Operator::kMinus, value) : Value(*integer);
}

Value round_number(const Value& value, const Arguments& arguments, Budget& /*budget*/) {
  const BoundArguments given("round", arguments, {"precision", "method"});
  const std::int64_t precision = given.integer(0, 0);
  const Text method = given.text(1, "common");
  if (const auto integer = as_integer(value); integer && precision >= 0) return Value(*integer);
  const auto number = as_number(value);
  if (!number) refuse(fmt::format("{} cannot be rounded", type_name(value)));
  if (precision < -300 || precision > 300) refuse("a precision is -300 to 300");
  if (method.view() != "common") {
    const double scale = std::pow(10.0, static_cast<double>(precision));
    if (method.view() == "ceil") return Value(std::ceil(*number * scale) / scale);
    if (method.view() == "floor") return Value(std::floor(*number * scale) / scale);
    refuse("the method of a rounding is common, ceil or floor");
  }
  if (!std::isfinite(*number)) return Value(*number);
  if (precision < 0) {
    const double scale = std::pow(10.0, static_cast<double>(-precision));
    return Value(std::nearbyint(*number / scale) * scale);
  }
  // Decimal digits of the exact number, halves to even, as Python rounds.
  const std::string digits = fmt::format("{:.{}f}", *number, precision);
  double rounded = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), rounded);
  return Value(rounded);
}

Value attribute(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("attr", arguments, {"name"});
  // An attribute, never an item.
  if (get_if<Dict>(value) != nullptr) return undefined("a dict has no attributes");
  return get_attribute(value, given.text(0).view(), budget);
}

constexpr std::array<std::pair<std::string_view, FilterFunction>, 17> kFilters{{
    {"trim", trim},
    {"upper", to_case<Case::kUpper>},
    {"lower", to_case<Case::kLower>},
    {"capitalize", to_case<Case::kCapitalized>},
    {"title", title},
    {"replace", replace_parts},
    {"indent", indent},
    {"string", to_string},
    {"safe", to_string},
    {"default", default_for},
    {"d", default_for},
    {"tojson", tojson},
    {"int", to_integer},
    {"float", to_float},
    {"abs", absolute},
    {"round", round_number},
    {"attr", attribute},
}};

}  // namespace

FilterFunction find_text_filter(std::string_view name) {
  const auto* found = std::find_if(kFilters.begin(), kFilters.end(),
                                   [&](const auto& filter) { return filter.first == name; });
  return found == kFilters.end() ? nullptr : found->second;
}

}  // namespace gumbel::jinja
