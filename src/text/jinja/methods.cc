#include "text/jinja/methods.h"

#include <algorithm>
#include <array>
#include <utility>

#include "text/jinja/arguments.h"
#include "text/jinja/string_methods.h"

namespace gumbel::jinja {

namespace {

template <typename T>
using Method = Value (*)(const T&, const Arguments&, Budget&);

Value dict_get(const Dict& dict, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("get", arguments, {"key", "default"});
  const Value* item = find_item(dict, given.get(0), budget);
  return item != nullptr ? *item : given.get(1, Value());
}

template <bool with_keys, bool with_values>
Value dict_view(const Dict& dict, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("items", arguments, {});
  budget.take_bytes(dict.items.size() * sizeof(Value::Data));
  std::vector<Value> items;
  for (const auto& [key, value] : dict.items) {
    if (with_keys && with_values) {
      items.push_back(make_tuple({key, value}));
    } else {
      items.push_back(with_keys ? key : value);
    }
  }
  return make_iterable(std::move(items));
}

Value dict_copy(const Dict& dict, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("copy", arguments, {});
  budget.take_bytes(dict.items.size() * 2 * sizeof(Value));
  return make_dict(dict);
}

Value list_index(const List& list, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("index", arguments, {"value"});
  const auto found = std::find_if(list.items.begin(), list.items.end(), [&](const Value& item) {
    return equal(item, given.get(0), budget);
  });
  if (found == list.items.end()) refuse("a list does not have the item that is looked for");
  return Value(static_cast<std::int64_t>(found - list.items.begin()));
}

Value list_count(const List& list, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("count", arguments, {"value"});
  return Value(static_cast<std::int64_t>(
      std::count_if(list.items.begin(), list.items.end(),
                    [&](const Value& item) { return equal(item, given.get(0), budget); })));
}

Value list_copy(const List& list, const Arguments& arguments, Budget& budget) {
  const BoundArguments given("copy", arguments, {});
  budget.take_bytes(list.items.size() * sizeof(Value));
  return make_list(list.items, list.kind);
}

using SharedLoop = std::shared_ptr<Loop>;

Value loop_cycle(const SharedLoop& loop, const Arguments& arguments, Budget& /*budget*/) {
  if (arguments.positional.empty() || !arguments.named.empty())
    refuse("loop.cycle takes the values to cycle through");
  return arguments.positional[loop->index % arguments.positional.size()];
}

Value loop_changed(const SharedLoop& loop, const Arguments& arguments, Budget& budget) {
  if (!arguments.named.empty()) refuse("loop.changed takes values without names");
  // A loop that has ended keeps no value, so that loops cannot hold each other.
  if (loop->items.empty()) refuse("loop.changed is called after the loop");
  const Value now = make_tuple(arguments.positional);
  const bool changed = !loop->changed || !equal(*loop->changed, now, budget);
  loop->changed = now;
  return Value(changed);
}

constexpr std::array<std::pair<std::string_view, Method<Dict>>, 5> kDictMethods{{
    {"get", dict_get},
    {"items", dict_view<true, true>},
    {"keys", dict_view<true, false>},
    {"values", dict_view<false, true>},
    {"copy", dict_copy},
}};
constexpr std::array<std::pair<std::string_view, Method<List>>, 3> kListMethods{{
    {"index", list_index},
    {"count", list_count},
    {"copy", list_copy},
}};
constexpr std::array<std::pair<std::string_view, Method<SharedLoop>>, 2> kLoopMethods{{
    {"cycle", loop_cycle},
    {"changed", loop_changed},
}};

template <typename T, std::size_t size>
Method<T> find_method(const std::array<std::pair<std::string_view, Method<T>>, size>& methods,
                      std::string_view name) {
  const auto* found = std::find_if(methods.begin(), methods.end(),
                                   [&](const auto& method) { return method.first == name; });
  return found == methods.end() ? nullptr : found->second;
}

}  // namespace

bool has_method(const Value& object, std::string_view name) {
  if (get_if<Text>(object) != nullptr) return has_string_method(name);
  if (get_if<Dict>(object) != nullptr) return find_method(kDictMethods, name) != nullptr;
  if (get_if<List>(object) != nullptr) return find_method(kListMethods, name) != nullptr;
  if (get_if<SharedLoop>(object) != nullptr) return find_method(kLoopMethods, name) != nullptr;
  return false;
}

Value call_method(const Value& object, std::string_view name, const Arguments& arguments,
                  Budget& budget) {
  if (const auto* text = get_if<Text>(object))
    return call_string_method(*text, name, arguments, budget);
  if (const auto* dict = get_if<Dict>(object))
    return find_method(kDictMethods, name)(*dict, arguments, budget);
  if (const auto* list = get_if<List>(object))
    return find_method(kListMethods, name)(*list, arguments, budget);
  return find_method(kLoopMethods, name)(*get_if<SharedLoop>(object), arguments, budget);
}

}  // namespace gumbel::jinja
