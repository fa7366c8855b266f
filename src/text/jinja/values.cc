#include "text/jinja/values.h"

#include <fmt/format.h>
#include <gumbel/error.h>

#include <algorithm>
#include <cmath>
#include <compare>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/quote.h"

namespace gumbel::jinja {

namespace {

[[noreturn]] void refuse_depth() {
  refuse(fmt::format("a value nests deeper than {} levels", kMaximumDepth));
}

Value from_json(const nlohmann::ordered_json& json, Origin origin, std::size_t depth) {
  if (depth > kMaximumDepth) refuse_depth();
  switch (json.type()) {
    case nlohmann::ordered_json::value_t::boolean:
      return Value(json.get<bool>());
    case nlohmann::ordered_json::value_t::number_integer:
      return Value(json.get<std::int64_t>());
    case nlohmann::ordered_json::value_t::number_unsigned: {
      const auto number = json.get<std::uint64_t>();
      if (number > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
        refuse(fmt::format("the integer {} exceeds 64 bits", number));
      return Value(static_cast<std::int64_t>(number));
    }
    case nlohmann::ordered_json::value_t::number_float:
      return Value(json.get<double>());
    case nlohmann::ordered_json::value_t::string:
      return Value::string(json.get_ref<const std::string&>(), origin);
    case nlohmann::ordered_json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const auto& item : json) items.push_back(from_json(item, origin, depth + 1));
      return Value::list(std::move(items));
    }
    case nlohmann::ordered_json::value_t::object: {
      Dict dict;
      for (const auto& [name, item] : json.items())
        dict.items.emplace_back(Value::string(name, origin), from_json(item, origin, depth + 1));
      return make_dict(std::move(dict));
    }
    default:
      return {};
  }
}

// The exact order of an integer and a number, which Python compares without rounding either.
std::partial_ordering compare_exactly(std::int64_t integer, double number) {
  if (std::isnan(number)) return std::partial_ordering::unordered;
  if (number >= 0x1p63) return std::partial_ordering::less;
  if (number < -0x1p63) return std::partial_ordering::greater;
  const double floor = std::floor(number);
  const auto order = integer <=> static_cast<std::int64_t>(floor);
  return order == 0 && number > floor ? std::partial_ordering::less : std::partial_ordering(order);
}

// Of two numbers; nothing where either is none.
std::optional<std::partial_ordering> compare_numbers(const Value& left, const Value& right) {
  const auto left_integer = as_integer(left);
  const auto right_integer = as_integer(right);
  if (left_integer && right_integer) return *left_integer <=> *right_integer;
  const auto left_number = as_number(left);
  const auto right_number = as_number(right);
  if (!left_number || !right_number) return std::nullopt;
  if (left_integer) return compare_exactly(*left_integer, *right_number);
  if (right_integer) return 0 <=> compare_exactly(*right_integer, *left_number);
  return *left_number <=> *right_number;
}

bool equal_items(const std::vector<Value>& left, const std::vector<Value>& right, Budget& budget) {
  if (left.size() != right.size()) return false;
  for (std::size_t i = 0; i < left.size(); ++i)
    if (!equal(left[i], right[i], budget)) return false;
  return true;
}

bool equal_dicts(const Dict& left, const Dict& right, Budget& budget) {
  if (left.items.size() != right.items.size()) return false;
  for (const auto& [key, value] : left.items) {
    const Value* other = find_item(right, key, budget);
    if (other == nullptr || !equal(value, *other, budget)) return false;
  }
  return true;
}

}  // namespace

Value::Value() {
  static const auto none = std::make_shared<const Data>();
  data_ = none;
}
Value::Value(bool boolean) : Value(make_value(boolean)) {}
Value::Value(std::int64_t integer) : Value(make_value(integer)) {}
Value::Value(double number) : Value(make_value(number)) {}

Value Value::string(std::string_view text, Origin origin) { return make_value(Text(text, origin)); }

Value Value::list(std::vector<Value> items) { return make_list(std::move(items)); }

Value Value::dict(std::vector<std::pair<std::string, Value>> items) {
  Dict dict;
  for (auto& [name, value] : items)
    dict.items.emplace_back(Value::string(name, Origin::kTemplate), std::move(value));
  return make_dict(std::move(dict));
}

Value Value::from_json(const nlohmann::ordered_json& json, Origin origin) {
  return jinja::from_json(json, origin, 0);
}

void refuse(const std::string& message) { throw Error(ErrorCode::kInvalidArgument, message); }

Value undefined(std::string what) { return make_value(Undefined{std::move(what)}); }

Value make_list(std::vector<Value> items, List::Kind kind) {
  std::size_t depth = 1;
  for (const Value& item : items) depth = std::max(depth, item.data().depth + 1);
  if (depth > kMaximumDepth) refuse_depth();
  return Value(
      std::make_shared<const Value::Data>(Value::Data{List{std::move(items), kind}, depth}));
}

Value make_dict(Dict dict) {
  std::size_t depth = 1;
  for (const auto& [key, value] : dict.items)
    depth = std::max({depth, key.data().depth + 1, value.data().depth + 1});
  if (depth > kMaximumDepth) refuse_depth();
  return Value(std::make_shared<const Value::Data>(Value::Data{std::move(dict), depth}));
}

bool is_undefined(const Value& value) { return get_if<Undefined>(value) != nullptr; }
bool is_none(const Value& value) { return get_if<None>(value) != nullptr; }
bool is_callable(const Value& value) {
  return get_if<Macro>(value) != nullptr || get_if<Function>(value) != nullptr;
}

std::optional<std::int64_t> as_integer(const Value& value) {
  if (const auto* integer = get_if<std::int64_t>(value)) return *integer;
  if (const auto* boolean = get_if<bool>(value)) return *boolean ? 1 : 0;
  return std::nullopt;
}

std::optional<double> as_number(const Value& value) {
  if (const auto* number = get_if<double>(value)) return *number;
  if (const auto integer = as_integer(value)) return static_cast<double>(*integer);
  return std::nullopt;
}

std::string_view type_name(const Value& value) {
  static constexpr std::string_view kNames[]{"none",        "undefined", "a boolean", "an integer",
                                             "a number",    "a string",  "a list",    "a dict",
                                             "a namespace", "a loop",    "a macro",   "a function"};
  return kNames[value.data().content.index()];
}

bool is_true(const Value& value) {
  if (is_none(value) || is_undefined(value)) return false;
  if (const auto number = as_number(value)) return *number != 0;
  if (const auto* text = get_if<Text>(value)) return !text->empty();
  if (const auto* list = get_if<List>(value)) return !list->items.empty();
  if (const auto* dict = get_if<Dict>(value)) return !dict->items.empty();
  return true;
}

bool equal(const Value& left, const Value& right, Budget& budget) {
  budget.take_steps();
  if (const auto order = compare_numbers(left, right)) return *order == 0;
  if (left.data().content.index() != right.data().content.index()) return false;
  if (is_none(left) || is_undefined(left)) return true;
  if (const auto* text = get_if<Text>(left)) {
    const std::string_view other = get_if<Text>(right)->view();
    if (text->size() != other.size()) return false;
    budget.take_steps(other.size() / 16);
    return text->view() == other;
  }
  if (const auto* list = get_if<List>(left)) {
    const auto* other = get_if<List>(right);
    return list->kind == other->kind && equal_items(list->items, other->items, budget);
  }
  if (const auto* dict = get_if<Dict>(left))
    return equal_dicts(*dict, *get_if<Dict>(right), budget);
  return &left.data() == &right.data();
}

bool less(const Value& left, const Value& right, Budget& budget) {
  budget.take_steps();
  if (const auto order = compare_numbers(left, right)) return *order < 0;
  const auto* text = get_if<Text>(left);
  const auto* other_text = get_if<Text>(right);
  if (text != nullptr && other_text != nullptr) {
    budget.take_steps(std::min(text->size(), other_text->size()) / 16);
    return text->view() < other_text->view();
  }
  const auto* list = get_if<List>(left);
  const auto* other_list = get_if<List>(right);
  if (list != nullptr && other_list != nullptr) {
    const std::size_t common = std::min(list->items.size(), other_list->items.size());
    for (std::size_t i = 0; i < common; ++i) {
      if (!equal(list->items[i], other_list->items[i], budget))
        return less(list->items[i], other_list->items[i], budget);
    }
    return list->items.size() < other_list->items.size();
  }
  refuse(fmt::format("{} and {} have no order", type_name(left), type_name(right)));
}

std::vector<Value> items_of(const Value& value, Budget& budget) {
  if (const auto* list = get_if<List>(value)) {
    budget.take_bytes(list->items.size() * sizeof(Value));
    return list->items;
  }
  std::vector<Value> items;
  if (const auto* dict = get_if<Dict>(value)) {
    budget.take_bytes(dict->items.size() * sizeof(Value));
    for (const auto& item : dict->items) items.push_back(item.first);
    return items;
  }
  if (const auto* text = get_if<Text>(value)) {
    budget.take_bytes(text->size() * sizeof(Value::Data));
    for (std::size_t at = 0; at < text->size();) {
      const std::size_t end = at + first_length(text->view().substr(at));
      items.push_back(make_value(text->slice(at, end)));
      at = end;
    }
    return items;
  }
  if (is_undefined(value)) return items;
  refuse(fmt::format("{} has no items to go through", type_name(value)));
}

void take_search(const Text& text, const Text& part, Budget& budget) {
  // A step compares 32 bytes; products of sizes within the limits of memory do not overflow.
  budget.take_steps(1 + text.size() / 32 * std::max<std::size_t>(1, part.size() / 32));
}

const Value* find_item(const Dict& dict, const Value& key, Budget& budget) {
  for (const auto& [name, value] : dict.items)
    if (equal(name, key, budget)) return &value;
  return nullptr;
}

const Value* find_item(const Dict& dict, std::string_view key, Budget& budget) {
  budget.take_steps(dict.items.size());
  for (const auto& [name, value] : dict.items) {
    const auto* text = get_if<Text>(name);
    if (text != nullptr && text->view() == key) return &value;
  }
  return nullptr;
}

}  // namespace gumbel::jinja
