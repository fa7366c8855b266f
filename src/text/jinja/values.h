// What the values of a template hold, and what Python does with them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/budget.h"
#include "text/jinja/jinja.h"
#include "text/jinja/text.h"

namespace gumbel::jinja {

struct MacroStatement;
struct Scope;

/// What a name, an attribute or an item that does not exist evaluates to.
struct Undefined {
  std::string what;  ///< For messages: "'x' is undefined".
};

struct None {};

struct List {
  enum class Kind : std::uint8_t {
    kList,
    kTuple,
    kIterable,  ///< A range, a dict's keys, what map makes: not printed, not equal to a list.
  };
  std::vector<Value> items;
  Kind kind = Kind::kList;
};

struct Dict {
  std::vector<std::pair<Value, Value>> items;  ///< Keys are strings, numbers, none or tuples.
};

/// namespace(): the only value that a template changes.
struct Namespace {
  std::map<std::string, Value, std::less<>> attributes;
};

/// `loop` within a loop's body.
struct Loop {
  std::vector<Value>
      items;  ///< None once the loop has ended, so that loops cannot hold each other.
  std::size_t length = 0;
  std::size_t index = 0;
  std::optional<Value> changed;  ///< What loop.changed() was last called with, while running.
};

struct Macro {
  const MacroStatement* statement;
  Scope* scope;  ///< Where it was defined.
};

/// A global function, or the method `name` of `object`.
struct Function {
  std::string name;
  Value object;
  bool is_method = false;
};

struct Value::Data {
  std::variant<None, Undefined, bool, std::int64_t, double, Text, List, Dict,
               std::shared_ptr<Namespace>, std::shared_ptr<Loop>, Macro, Function>
      content;
  std::size_t depth = 1;  ///< Of lists and dicts within each other: at most kMaximumDepth.
};

/// What `value` holds of type T, or null.
template <typename T>
const T* get_if(const Value& value) {
  return std::get_if<T>(&value.data().content);
}

template <typename T>
Value make_value(T content) {
  static_assert(!std::is_same_v<T, List> && !std::is_same_v<T, Dict>, "make_list, make_dict");
  return Value(std::make_shared<const Value::Data>(Value::Data{std::move(content)}));
}

/// Throw Error(kInvalidArgument) where values would nest deeper than kMaximumDepth, so that all
/// that follows them by recursion is bounded. A dict's keys must differ; make_dict does not look.
Value make_list(std::vector<Value> items, List::Kind kind = List::Kind::kList);
inline Value make_tuple(std::vector<Value> items) {
  return make_list(std::move(items), List::Kind::kTuple);
}
inline Value make_iterable(std::vector<Value> items) {
  return make_list(std::move(items), List::Kind::kIterable);
}
Value make_dict(Dict dict);

Value undefined(std::string what);
inline Value text_value(std::string_view bytes) { return make_value(Text(bytes)); }

/// Arguments of a call, a filter or a test.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

bool is_undefined(const Value& value);
bool is_none(const Value& value);
bool is_callable(const Value& value);

/// The integer of an integer or a boolean.
std::optional<std::int64_t> as_integer(const Value& value);
/// The number of a number or a boolean.
std::optional<double> as_number(const Value& value);

/// The name of the type in messages: "a string", "none", ...
std::string_view type_name(const Value& value);

/// Python's bool().
bool is_true(const Value& value);

/// Python's ==.
bool equal(const Value& left, const Value& right, Budget& budget);

/// Python's <: of numbers, of strings (by code point) and of lists. Throws Error(kInvalidArgument)
/// for other values.
bool less(const Value& left, const Value& right, Budget& budget);

/// The items that a loop over the value goes through: of a list, the keys of a dict, the characters
/// of a string, nothing of what is undefined. Throws Error(kInvalidArgument) for other values.
std::vector<Value> items_of(const Value& value, Budget& budget);

/// Takes what looking for `part` in `text` may cost: a comparison at every place.
void take_search(const Text& text, const Text& part, Budget& budget);

/// The value under `key`, or null.
const Value* find_item(const Dict& dict, const Value& key, Budget& budget);
const Value* find_item(const Dict& dict, std::string_view key, Budget& budget);

/// Throws Error(kInvalidArgument) with `message`; the interpreter adds the line.
[[noreturn]] void refuse(const std::string& message);

/// Lists within lists, and calls of macros within each other, nest no deeper than this where C++
/// follows them by recursion.
inline constexpr std::size_t kMaximumDepth = 100;

}  // namespace gumbel::jinja
