#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/quote.h"
#include "text/jinja/arguments.h"
#include "text/jinja/attributes.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"
#include "text/jinja/tests.h"
#include "text/jinja/text_functions.h"

namespace gumbel::jinja {

namespace {

Value length(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("length", arguments, {});
  std::size_t count = 0;
  if (const auto* text = get_if<Text>(value)) {
    budget.take_steps(text->size() / 16);
    count = count_characters(text->view());
  } else if (const auto* list = get_if<List>(value)) {
    count = list->items.size();
  } else if (const auto* dict = get_if<Dict>(value)) {
    count = dict->items.size();
  } else if (!is_undefined(value)) {
    refuse(fmt::format("{} has no length", type_name(value)));
  }
  return Value(static_cast<std::int64_t>(count));
}

Value to_list(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("list", arguments, {});
  return make_list(items_of(value, budget));
}

Value first(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("first", arguments, {});
  const std::vector<Value> items = items_of(value, budget);
  return items.empty() ? undefined("there is no first item") : items.front();
}

Value last(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("last", arguments, {});
  const std::vector<Value> items = items_of(value, budget);
  return items.empty() ? undefined("there is no last item") : items.back();
}

Value reverse(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("reverse", arguments, {});
  std::vector<Value> items = items_of(value, budget);
  std::reverse(items.begin(), items.end());
  if (get_if<Text>(value) != nullptr) return make_value(join(items, Text(), budget));
  return make_iterable(std::move(items));
}

Value join_items(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("join", arguments, {"d", "attribute"});
  std::vector<Value> items = items_of(value, budget);
  if (given.find_some(1) != nullptr)
    for (Value& item : items) item = get_path(item, given.get(1), budget);
  const Text separator = given.find(0) == nullptr ? Text() : to_text(given.get(0), budget);
  return make_value(join(items, separator, budget));
}

// What is compared in place of `value`: strings without their case, unless told otherwise.
Value sort_key(const Value& value, bool case_sensitive, Budget& budget) {
  const auto* text = get_if<Text>(value);
  if (case_sensitive || text == nullptr) return value;
  return make_value(change_case(*text, Case::kLower, budget));
}

// Of an item: its attribute, or several separated by commas, or itself.
Value item_key(const Value& item, const Value* attribute, bool case_sensitive, Budget& budget) {
  if (attribute == nullptr) return sort_key(item, case_sensitive, budget);
  const auto* names = get_if<Text>(*attribute);
  if (names == nullptr)
    return make_list({sort_key(get_path(item, *attribute, budget), case_sensitive, budget)});
  std::vector<Value> keys;
  const Text comma(",");
  for (const Value& name : split(*names, &comma, kAll, false, budget))
    keys.push_back(sort_key(get_path(item, name, budget), case_sensitive, budget));
  return make_list(std::move(keys));
}

using Keyed = std::pair<Value, Value>;  // of what it is compared by, and the item

std::vector<Keyed> with_keys(const std::vector<Value>& items, const Value* attribute,
                             bool case_sensitive, Budget& budget) {
  budget.take_bytes(items.size() * sizeof(Keyed));
  std::vector<Keyed> keyed;
  for (const Value& item : items)
    keyed.emplace_back(item_key(item, attribute, case_sensitive, budget), item);
  return keyed;
}

void sort_by_key(std::vector<Keyed>& keyed, bool reverse, Budget& budget) {
  std::stable_sort(keyed.begin(), keyed.end(), [&](const Keyed& left, const Keyed& right) {
    return reverse ? less(right.first, left.first, budget) : less(left.first, right.first, budget);
  });
}

Value items_from(std::vector<Keyed> keyed) {
  std::vector<Value> items;
  for (Keyed& pair : keyed) items.push_back(std::move(pair.second));
  return make_list(std::move(items));
}

Value sort(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("sort", arguments, {"reverse", "case_sensitive", "attribute"});
  std::vector<Keyed> keyed =
      with_keys(items_of(value, budget), given.find_some(2), given.is_true(1, false), budget);
  sort_by_key(keyed, given.is_true(0, false), budget);
  return items_from(std::move(keyed));
}

Value unique(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("unique", arguments, {"case_sensitive", "attribute"});
  std::vector<Keyed> kept;
  for (Keyed& pair :
       with_keys(items_of(value, budget), given.find_some(1), given.is_true(0, false), budget)) {
    const bool is_new = std::none_of(kept.begin(), kept.end(), [&](const Keyed& other) {
      return equal(other.first, pair.first, budget);
    });
    if (is_new) kept.push_back(std::move(pair));
  }
  return items_from(std::move(kept));
}

template <bool greatest>
Value extreme(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given(greatest ? "max" : "min", arguments, {"case_sensitive", "attribute"});
  const std::vector<Keyed> keyed =
      with_keys(items_of(value, budget), given.find_some(1), given.is_true(0, false), budget);
  if (keyed.empty()) return undefined("there is no item to choose from");
  const Keyed* best = &keyed.front();
  for (const Keyed& pair : keyed) {
    if (greatest ? less(best->first, pair.first, budget) : less(pair.first, best->first, budget))
      best = &pair;
  }
  return best->second;
}

Value sum(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("sum", arguments, {"attribute", "start"});
  Value total = given.get(1, Value(std::int64_t{0}));
  for (const Value& item : items_of(value, budget)) {
    const Value* path = given.find_some(0);
    total = arithmetic(Arithmetic::Operator::kAdd, total,
                       path == nullptr ? item : get_path(item, *path, budget), budget);
  }
  return total;
}

// The arguments after the first `count`.
Arguments after(const Arguments& arguments, std::size_t count) {
  Arguments rest = arguments;
  rest.positional.erase(rest.positional.begin(),
                        rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
  return rest;
}

std::string_view name_in(const Arguments& arguments, std::size_t place, std::string_view what) {
  const auto* name = get_if<Text>(arguments.positional[place]);
  if (name == nullptr)
    refuse(fmt::format("the name of {} is {}", what, type_name(arguments.positional[place])));
  return name->view();
}

Value map(const Value& value, const Arguments& arguments, Budget& budget) {
  std::vector<Value> items = items_of(value, budget);
  if (arguments.positional.empty()) {
    const BoundArguments given("map", arguments, {"attribute", "default"});
    const Value& path = given.get(0);
    for (Value& item : items) {
      item = get_path(item, path, budget);
      if (is_undefined(item) && given.find(1) != nullptr) item = given.get(1);
    }
  } else {
    const std::string_view name = name_in(arguments, 0, "a filter");
    const Arguments rest = after(arguments, 1);
    for (Value& item : items) item = apply_filter(name, item, rest, budget);
  }
  return make_iterable(std::move(items));
}

// select, reject, selectattr, rejectattr
template <bool wanted, bool of_attribute>
Value choose(const Value& value, const Arguments& arguments, Budget& budget) {
  constexpr std::size_t kTest = of_attribute ? 1 : 0;
  if (arguments.positional.size() < kTest) refuse("the attribute to select by is missing");
  const bool has_test = arguments.positional.size() > kTest;
  const std::string_view test = has_test ? name_in(arguments, kTest, "a test") : "";
  const Arguments rest = has_test ? after(arguments, kTest + 1) : Arguments{};
  std::vector<Value> kept;
  for (const Value& item : items_of(value, budget)) {
    const Value asked = of_attribute ? get_path(item, arguments.positional[0], budget) : item;
    const bool holds = has_test ? apply_test(test, asked, rest, budget) : is_true(asked);
    if (holds == wanted) kept.push_back(item);
  }
  return make_iterable(std::move(kept));
}

Value pair_of(const Value& key, const Value& value) { return make_tuple({key, value}); }

Value items(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("items", arguments, {});
  if (is_undefined(value)) return make_iterable({});
  const auto* dict = get_if<Dict>(value);
  if (dict == nullptr) refuse(fmt::format("{} has no keys", type_name(value)));
  budget.take_bytes(dict->items.size() * sizeof(Value::Data));
  std::vector<Value> pairs;
  for (const auto& [key, item] : dict->items) pairs.push_back(pair_of(key, item));
  return make_iterable(std::move(pairs));
}

Value dictsort(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("dictsort", arguments, {"case_sensitive", "by", "reverse"});
  const auto* dict = get_if<Dict>(value);
  if (dict == nullptr) refuse(fmt::format("{} has no keys to sort", type_name(value)));
  const Text by = given.text(1, "key");
  if (by.view() != "key" && by.view() != "value") given.refuse_type(1, "key or value");
  budget.take_bytes(dict->items.size() * sizeof(Keyed));
  std::vector<Keyed> keyed;
  for (const auto& [key, item] : dict->items)
    keyed.emplace_back(sort_key(by.view() == "key" ? key : item, given.is_true(0, false), budget),
                       pair_of(key, item));
  sort_by_key(keyed, given.is_true(2, false), budget);
  return items_from(std::move(keyed));
}

Value batch(const Value& value, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("batch", arguments, {"linecount", "fill_with"});
  const std::int64_t size = given.integer(0);
  if (size <= 0) refuse("the items of a batch are 1 or more");
  std::vector<Value> batches;
  std::vector<Value> current;
  for (const Value& item : items_of(value, budget)) {
    if (current.size() == static_cast<std::size_t>(size))
      batches.push_back(make_list(std::exchange(current, {})));
    current.push_back(item);
  }
  if (!current.empty()) {
    if (given.find_some(1) != nullptr) {
      const std::size_t missing = static_cast<std::size_t>(size) - current.size();
      budget.take_bytes(missing * sizeof(Value));
      current.insert(current.end(), missing, given.get(1));
    }
    batches.push_back(make_list(std::move(current)));
  }
  return make_iterable(std::move(batches));
}

constexpr std::array<std::pair<std::string_view, FilterFunction>, 20> kFilters{{
    {"length", length},
    {"count", length},
    {"list", to_list},
    {"first", first},
    {"last", last},
    {"reverse", reverse},
    {"join", join_items},
    {"sort", sort},
    {"unique", unique},
    {"min", extreme<false>},
    {"max", extreme<true>},
    {"sum", sum},
    {"map", map},
    {"select", choose<true, false>},
    {"reject", choose<false, false>},
    {"selectattr", choose<true, true>},
    {"rejectattr", choose<false, true>},
    {"items", items},
    {"dictsort", dictsort},
    {"batch", batch},
}};

}  // namespace

FilterFunction find_list_filter(std::string_view name) {
  const auto* found = std::find_if(kFilters.begin(), kFilters.end(),
                                   [&](const auto& filter) { return filter.first == name; });
  return found == kFilters.end() ? nullptr : found->second;
}

}  // namespace gumbel::jinja
