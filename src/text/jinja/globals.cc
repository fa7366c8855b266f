#include "text/jinja/globals.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

#include "base/quote.h"
#include "text/jinja/arguments.h"
#include "text/jinja/attributes.h"
#include "text/jinja/printing.h"

namespace gumbel::jinja {

namespace {

using Namespaces = std::vector<std::shared_ptr<Namespace>>;

// Jinja2's sandbox has the same limit.
constexpr std::int64_t kLongestRange = 100'000;

Value range(const Arguments& arguments, Namespaces& /*namespaces*/, Budget& budget) {
  const BoundArguments given("range", arguments, {"start", "stop", "step"});
  const bool only_stop = given.find(1) == nullptr;
  const std::int64_t start = only_stop ? 0 : given.integer(0);
  const std::int64_t stop = given.integer(only_stop ? 0 : 1);
  const std::int64_t step = given.integer(2, 1);
  if (step == 0) refuse("the step of a range is 0");
  std::vector<Value> items;
  for (std::int64_t at = start; step > 0 ? at < stop : at > stop;) {
    if (items.size() >= kLongestRange)
      refuse(fmt::format("a range has more than {} items", kLongestRange));
    budget.take_bytes(sizeof(Value::Data));
    items.emplace_back(at);
    if (__builtin_add_overflow(at, step, &at)) break;
  }
  return make_iterable(std::move(items));
}

// The items of a dict or of pairs, and the named arguments.
Dict items_from(std::string_view function, const Arguments& arguments, Budget& budget) {
  if (arguments.positional.size() > 1)
    refuse(fmt::format("{} takes one argument without a name", quote(function)));
  Dict dict;
  if (!arguments.positional.empty()) {
    const Value& first = arguments.positional.front();
    if (const auto* other = get_if<Dict>(first)) {
      budget.take_bytes(other->items.size() * 2 * sizeof(Value));
      dict = *other;
    } else {
      for (const Value& pair : items_of(first, budget)) {
        const std::vector<Value> both = items_of(pair, budget);
        if (both.size() != 2) refuse(fmt::format("{} takes pairs", quote(function)));
        set_item(dict, both[0], both[1], budget);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) set_item(dict, text_value(name), value, budget);
  return dict;
}

Value make_dict_of(const Arguments& arguments, Namespaces& /*namespaces*/, Budget& budget) {
  return make_dict(items_from("dict", arguments, budget));
}

Value make_namespace(const Arguments& arguments, Namespaces& namespaces, Budget& budget) {
  const Dict items = items_from("namespace", arguments, budget);
  auto made = std::make_shared<Namespace>();
  for (const auto& [key, value] : items.items)
    made->attributes[std::string(to_text(key, budget).view())] = value;
  budget.take_bytes(sizeof(Namespace));
  namespaces.push_back(made);
  return make_value(std::move(made));
}

[[noreturn]] Value raise_exception(const Arguments& arguments, Namespaces& /*namespaces*/,
                                   Budget& budget) {
  const BoundArguments given("raise_exception", arguments, {"message"});
  refuse(std::string(to_text(given.get(0), budget).view()));
}

// The date is fixed: the same conversation is the same text on every day.
Value strftime_now(const Arguments& arguments, Namespaces& /*namespaces*/, Budget& /*budget*/) {
  const BoundArguments given("strftime_now", arguments, {"format"});
  std::tm date{};
  date.tm_year = 2024 - 1900;
  date.tm_mon = 6;
  date.tm_mday = 26;
  date.tm_wday = 5;
  date.tm_yday = 207;
  const std::string format(given.text(0).view());
  std::array<char, 1024> buffer{};
  // A space before the format tells an empty result from one that is too long.
  const std::size_t length =
      std::strftime(buffer.data(), buffer.size(), fmt::format(" {}", format).c_str(), &date);
  if (length == 0) refuse(fmt::format("the date by {} is too long", quote(format)));
  return make_value(
      Text(std::string_view(buffer.data(), length).substr(1), given.text(0).origin()));
}

using Global = Value (*)(const Arguments&, Namespaces&, Budget&);
constexpr std::array<std::pair<std::string_view, Global>, 5> kGlobals{{
    {"range", range},
    {"dict", make_dict_of},
    {"namespace", make_namespace},
    {"raise_exception", raise_exception},
    {"strftime_now", strftime_now},
}};

const auto* find_global(std::string_view name) {
  return std::find_if(kGlobals.begin(), kGlobals.end(),
                      [&](const auto& global) { return global.first == name; });
}

}  // namespace

bool is_global(std::string_view name) { return find_global(name) != kGlobals.end(); }

Value call_global(std::string_view name, const Arguments& arguments, Namespaces& namespaces,
                  Budget& budget) {
  return find_global(name)->second(arguments, namespaces, budget);
}

}  // namespace gumbel::jinja
