#include "text/jinja/attributes.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "base/quote.h"
#include "text/jinja/methods.h"
#include "text/jinja/printing.h"
#include "text/jinja/syntax.h"

namespace gumbel::jinja {

namespace {

Value missing(const Value& object, std::string_view name) {
  return undefined(fmt::format("{} has no {}", type_name(object), quote(name)));
}

Value loop_attribute(const Value& object, const Loop& loop, std::string_view name) {
  const auto number = [](std::size_t value) { return Value(static_cast<std::int64_t>(value)); };
  const auto neighbour = [&](std::size_t index, std::string_view which) {
    return index < loop.items.size() ? loop.items[index]
                                     : undefined(fmt::format("there is no {} item", which));
  };
  if (name == "index") return number(loop.index + 1);
  if (name == "index0") return number(loop.index);
  if (name == "revindex") return number(loop.length - loop.index);
  if (name == "revindex0") return number(loop.length - loop.index - 1);
  if (name == "first") return Value(loop.index == 0);
  if (name == "last") return Value(loop.index + 1 == loop.length);
  if (name == "length") return number(loop.length);
  if (name == "depth") return number(1);  // loops that call themselves are not supported
  if (name == "depth0") return number(0);
  if (name == "previtem") return neighbour(loop.index - 1, "previous");
  if (name == "nextitem") return neighbour(loop.index + 1, "next");
  return missing(object, name);
}

Value macro_attribute(const Value& object, const MacroStatement& macro, std::string_view name) {
  if (name == "name") return text_value(macro.name);
  if (name != "arguments") return missing(object, name);
  std::vector<Value> parameters;
  for (const std::string& parameter : macro.parameters) parameters.push_back(text_value(parameter));
  return make_tuple(std::move(parameters));
}

Value item_at(const Value& object, const List& list, std::int64_t index) {
  const auto size = static_cast<std::int64_t>(list.items.size());
  if (index < 0) index += size;
  if (index < 0 || index >= size)
    return undefined(fmt::format("{} has no item {}", type_name(object), index));
  return list.items[static_cast<std::size_t>(index)];
}

Value character_at(const Value& object, const Text& text, std::int64_t index, Budget& budget) {
  budget.take_steps(text.size() / 16);
  const auto size = static_cast<std::int64_t>(count_characters(text.view()));
  if (index < 0) index += size;
  if (index < 0 || index >= size)
    return undefined(fmt::format("{} has no character {}", type_name(object), index));
  const std::size_t begin = byte_offset(text.view(), static_cast<std::size_t>(index));
  const std::size_t length = first_length(text.view().substr(begin));
  return make_value(text.slice(begin, begin + length));
}

// The attribute that is no item, or undefined.
Value own_attribute(const Value& object, std::string_view name) {
  if (has_method(object, name)) return make_value(Function{std::string(name), object, true});
  if (const auto* loop = get_if<std::shared_ptr<Loop>>(object))
    return loop_attribute(object, **loop, name);
  if (const auto* macro = get_if<Macro>(object))
    return macro_attribute(object, *macro->statement, name);
  if (const auto* found = get_if<std::shared_ptr<Namespace>>(object)) {
    const auto attribute = (*found)->attributes.find(name);
    if (attribute != (*found)->attributes.end()) return attribute->second;
  }
  return missing(object, name);
}

}  // namespace

Value get_attribute(const Value& object, std::string_view name, Budget& budget) {
  if (const auto* nothing = get_if<Undefined>(object)) refuse(nothing->what);
  Value found = own_attribute(object, name);
  if (!is_undefined(found)) return found;
  if (const auto* dict = get_if<Dict>(object)) {
    const Value* item = find_item(*dict, name, budget);
    if (item != nullptr) return *item;
  }
  return found;
}

Value get_item(const Value& object, const Value& key, Budget& budget) {
  if (const auto* nothing = get_if<Undefined>(object)) refuse(nothing->what);
  if (const auto* dict = get_if<Dict>(object)) {
    const Value* item = find_item(*dict, key, budget);
    if (item != nullptr) return *item;
  }
  if (const auto index = as_integer(key)) {
    if (const auto* list = get_if<List>(object)) return item_at(object, *list, *index);
    if (const auto* text = get_if<Text>(object)) return character_at(object, *text, *index, budget);
  }
  if (const auto* name = get_if<Text>(key)) return own_attribute(object, name->view());
  return missing(object, to_text(key, budget).view());
}

Value get_path(const Value& object, const Value& path, Budget& budget) {
  const auto* text = get_if<Text>(path);
  if (text == nullptr) return get_item(object, path, budget);
  Value found = object;
  std::string_view rest = text->view();
  for (;;) {
    budget.take_steps();
    const std::string_view part = rest.substr(0, rest.find('.'));
    std::int64_t index = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), index);
    const bool is_index = error == std::errc() && end == part.data() + part.size() && index >= 0;
    found = get_item(found, is_index ? Value(index) : text_value(part), budget);
    if (part.size() == rest.size()) return found;
    rest.remove_prefix(part.size() + 1);
  }
}

void set_item(Dict& dict, const Value& key, Value value, Budget& budget) {
  const auto* list = get_if<List>(key);
  if (get_if<Dict>(key) != nullptr || (list != nullptr && list->kind != List::Kind::kTuple))
    refuse(fmt::format("{} cannot be a key", type_name(key)));
  budget.take_bytes(2 * sizeof(Value));
  const auto found = std::find_if(dict.items.begin(), dict.items.end(),
                                  [&](const auto& item) { return equal(item.first, key, budget); });
  if (found == dict.items.end()) {
    dict.items.emplace_back(key, std::move(value));
  } else {
    found->second = std::move(value);
  }
}

}  // namespace gumbel::jinja
