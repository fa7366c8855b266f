#include "text/jinja/string_methods.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include "text/jinja/arguments.h"
#include "text/jinja/text_functions.h"

namespace gumbel::jinja {

namespace {

using Method = Value (*)(const Text&, const Arguments&, Budget&);

template <Side side>
Value strip_side(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("strip", arguments, {"chars"});
  std::optional<std::string> characters;
  if (given.find_some(0) != nullptr) characters = given.text(0).view();
  budget.take_steps(text.size() / 16);
  budget.take_bytes(text.size());
  return make_value(strip(text, side, characters));
}

std::size_t split_count(const BoundArguments& given, std::size_t parameter) {
  const std::int64_t count = given.integer(parameter, -1);
  return count < 0 ? kAll : static_cast<std::size_t>(count);
}

template <bool from_right>
Value split_by(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("split", arguments, {"sep", "maxsplit"});
  const Text* separator = given.find_some(0) == nullptr ? nullptr : &given.text(0);
  return make_list(split(text, separator, split_count(given, 1), from_right, budget));
}

Value splitlines(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("splitlines", arguments, {"keepends"});
  return make_list(split_lines(text, given.is_true(0, false), budget));
}

// Bytes [begin, end) that characters start and stop are, as a slice takes them.
std::pair<std::size_t, std::size_t> byte_range(const Text& text, const BoundArguments& given) {
  const auto size = static_cast<std::int64_t>(count_characters(text.view()));
  const auto place = [&](std::size_t parameter, std::int64_t otherwise) -> std::size_t {
    if (given.find_some(parameter) == nullptr) return static_cast<std::size_t>(otherwise);
    const std::int64_t at = given.integer(parameter);
    if (at > size) return static_cast<std::size_t>(size) + 1;
    return static_cast<std::size_t>(std::max<std::int64_t>(0, at < 0 ? at + size : at));
  };
  const std::size_t begin = place(1, 0);
  const std::size_t end = std::min(place(2, size), static_cast<std::size_t>(size));
  // A start beyond the end is no place at all, not even for an empty part.
  if (begin > static_cast<std::size_t>(size)) return {text.size() + 1, text.size()};
  return {byte_offset(text.view(), begin), byte_offset(text.view(), end)};
}

template <bool at_end>
Value has_affix(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given(at_end ? "endswith" : "startswith", arguments,
                             {"affix", "start", "end"});
  budget.take_steps(text.size() / 16);
  const auto [begin, end] = byte_range(text, given);
  if (begin > end) return Value(false);
  const std::string_view within = text.view().substr(begin, end - begin);
  const auto has = [&](const Text& affix) {
    return at_end ? within.ends_with(affix.view()) : within.starts_with(affix.view());
  };
  const auto* several = get_if<List>(given.get(0));
  if (several == nullptr || several->kind != List::Kind::kTuple) return Value(has(given.text(0)));
  return Value(std::any_of(several->items.begin(), several->items.end(), [&](const Value& item) {
    const auto* affix = get_if<Text>(item);
    if (affix == nullptr) given.refuse_type(0, "strings");
    return has(*affix);
  }));
}

template <Case wanted>
Value to_case(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("a change of case", arguments, {});
  return make_value(change_case(text, wanted, budget));
}

Value replace_part(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("replace", arguments, {"old", "new", "count"});
  return make_value(replace(text, given.text(0), given.text(1), split_count(given, 2), budget));
}

template <bool from_right, bool must_be_there>
Value find_part(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("find", arguments, {"part", "start", "end"});
  const auto [begin, end] = byte_range(text, given);
  const auto at = find(text, given.text(0), begin, end, from_right, budget);
  if (!at && must_be_there) refuse("a string does not have the part that is looked for");
  if (!at) return Value(std::int64_t{-1});
  return Value(static_cast<std::int64_t>(count_characters(text.view().substr(0, *at))));
}

Value count_part(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("count", arguments, {"part"});
  return Value(static_cast<std::int64_t>(count_occurrences(text, given.text(0), budget)));
}

Value join_items(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("join", arguments, {"items"});
  const std::vector<Value> items = items_of(given.get(0), budget);
  const bool all_strings = std::all_of(
      items.begin(), items.end(), [](const Value& item) { return get_if<Text>(item) != nullptr; });
  if (!all_strings || is_undefined(given.get(0))) given.refuse_type(0, "a list of strings");
  return make_value(join(items, text, budget));
}

Value format_fields(const Text& text, const Arguments& arguments, Budget& budget) {
  return make_value(format(text, arguments, budget));
}

template <Side side>
Value justify_to(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("a field", arguments, {"width", "fillchar"});
  return make_value(justify(text, given.integer(0), given.text(1, " "), side, budget));
}

Value zfill(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("zfill", arguments, {"width"});
  const bool has_sign = text.view().starts_with('-') || text.view().starts_with('+');
  Text out = text.slice(0, has_sign ? 1 : 0);
  std::int64_t width = 0;
  if (__builtin_sub_overflow(given.integer(0), has_sign ? 1 : 0, &width)) width = 0;
  out.append(justify(text.slice(has_sign ? 1 : 0), width, Text("0"), Side::kRight, budget));
  return make_value(std::move(out));
}

template <bool at_end>
Value remove_affix(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given(at_end ? "removesuffix" : "removeprefix", arguments, {"affix"});
  const std::string_view affix = given.text(0).view();
  budget.take_bytes(text.size());
  if (at_end && text.view().ends_with(affix))
    return make_value(text.slice(0, text.size() - affix.size()));
  if (!at_end && text.view().starts_with(affix)) return make_value(text.slice(affix.size()));
  return make_value(text);
}

template <bool from_right>
Value partition(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("partition", arguments, {"sep"});
  const Text& separator = given.text(0);
  if (separator.empty()) refuse("the separator of a partition is empty");
  budget.take_bytes(text.size());
  const auto at = find(text, separator, 0, text.size(), from_right, budget);
  const auto part = [&](std::size_t begin, std::size_t end) {
    return make_value(text.slice(begin, end));
  };
  const std::size_t size = text.size();
  if (!at)
    return from_right ? make_tuple({part(0, 0), part(0, 0), part(0, size)})
                      : make_tuple({part(0, size), part(0, 0), part(0, 0)});
  const std::size_t after = *at + separator.size();
  return make_tuple({part(0, *at), part(*at, after), part(after, size)});
}

bool is_letter(char32_t character) {
  const auto category = utf8proc_category(static_cast<utf8proc_int32_t>(character));
  return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool is_decimal(char32_t character) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(character)) == UTF8PROC_CATEGORY_ND;
}

// Superscripts and digits in circles count as digits to Python too; no template asks about them.
bool is_alphanumeric(char32_t character) { return is_letter(character) || is_decimal(character); }
bool is_ascii(char32_t character) { return character < 0x80; }

template <bool (*holds)(char32_t), bool of_empty>
Value all_are(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("a question about characters", arguments, {});
  budget.take_steps(text.size() / 16);
  std::string_view rest = text.view();
  bool all = of_empty || !rest.empty();
  for (; all && !rest.empty(); rest.remove_prefix(first_length(rest)))
    all = holds(first_character(rest));
  return Value(all);
}

template <bool upper>
Value is_in_case(const Text& text, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("a question about case", arguments, {});
  const Text same = change_case(text, upper ? Case::kUpper : Case::kLower, budget);
  const Text other = change_case(text, upper ? Case::kLower : Case::kUpper, budget);
  return Value(same.view() == text.view() && other.view() != text.view());
}

constexpr std::array<std::pair<std::string_view, Method>, 37> kMethods{{
    {"strip", strip_side<Side::kBoth>},
    {"lstrip", strip_side<Side::kLeft>},
    {"rstrip", strip_side<Side::kRight>},
    {"split", split_by<false>},
    {"rsplit", split_by<true>},
    {"splitlines", splitlines},
    {"startswith", has_affix<false>},
    {"endswith", has_affix<true>},
    {"upper", to_case<Case::kUpper>},
    {"lower", to_case<Case::kLower>},
    {"capitalize", to_case<Case::kCapitalized>},
    {"title", to_case<Case::kTitle>},
    {"replace", replace_part},
    {"find", find_part<false, false>},
    {"rfind", find_part<true, false>},
    {"index", find_part<false, true>},
    {"rindex", find_part<true, true>},
    {"count", count_part},
    {"join", join_items},
    {"format", format_fields},
    {"ljust", justify_to<Side::kLeft>},
    {"rjust", justify_to<Side::kRight>},
    {"center", justify_to<Side::kBoth>},
    {"zfill", zfill},
    {"removeprefix", remove_affix<false>},
    {"removesuffix", remove_affix<true>},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"isdigit", all_are<is_decimal, false>},
    {"isdecimal", all_are<is_decimal, false>},
    {"isnumeric", all_are<is_decimal, false>},
    {"isalpha", all_are<is_letter, false>},
    {"isalnum", all_are<is_alphanumeric, false>},
    {"isspace", all_are<is_space, false>},
    {"isascii", all_are<is_ascii, true>},
    {"islower", is_in_case<false>},
    {"isupper", is_in_case<true>},
}};

const auto* find_method(std::string_view name) {
  return std::find_if(kMethods.begin(), kMethods.end(),
                      [&](const auto& method) { return method.first == name; });
}

}  // namespace

bool has_string_method(std::string_view name) { return find_method(name) != kMethods.end(); }

Value call_string_method(const Text& text, std::string_view name, const Arguments& arguments,
                         Budget& budget) {
  return find_method(name)->second(text, arguments, budget);
}

}  // namespace gumbel::jinja
