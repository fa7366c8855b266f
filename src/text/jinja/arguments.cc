#include "text/jinja/arguments.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"

namespace gumbel::jinja {

BoundArguments::BoundArguments(std::string_view function, const Arguments& arguments,
                               std::initializer_list<std::string_view> parameters)
    : function_(function), parameters_(parameters), values_(parameters.size()) {
  if (arguments.positional.size() > parameters_.size())
    refuse(fmt::format("{} takes at most {} arguments, not {}", quote(function_),
                       parameters_.size(), arguments.positional.size()));
  for (std::size_t i = 0; i < arguments.positional.size(); ++i)
    values_[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(parameters_.begin(), parameters_.end(), name);
    if (found == parameters_.end())
      refuse(fmt::format("{} has no parameter {}", quote(function_), quote(name)));
    const Value*& slot = values_[static_cast<std::size_t>(found - parameters_.begin())];
    if (slot != nullptr)
      refuse(fmt::format("{} was given {} twice", quote(function_), quote(name)));
    slot = &value;
  }
}

const Value* BoundArguments::find_some(std::size_t parameter) const {
  const Value* value = find(parameter);
  return value == nullptr || is_none(*value) ? nullptr : value;
}

const Value& BoundArguments::get(std::size_t parameter) const {
  if (values_[parameter] == nullptr)
    refuse(
        fmt::format("{} needs the argument {}", quote(function_), quote(parameters_[parameter])));
  return *values_[parameter];
}

Value BoundArguments::get(std::size_t parameter, Value otherwise) const {
  return values_[parameter] == nullptr ? std::move(otherwise) : *values_[parameter];
}

const Text& BoundArguments::text(std::size_t parameter) const {
  const auto* text = get_if<Text>(get(parameter));
  if (text == nullptr) refuse_type(parameter, "a string");
  return *text;
}

Text BoundArguments::text(std::size_t parameter, std::string_view otherwise) const {
  return values_[parameter] == nullptr ? Text(otherwise) : text(parameter);
}

std::int64_t BoundArguments::integer(std::size_t parameter) const {
  const auto integer = as_integer(get(parameter));
  if (!integer) refuse_type(parameter, "an integer");
  return *integer;
}

std::int64_t BoundArguments::integer(std::size_t parameter, std::int64_t otherwise) const {
  return values_[parameter] == nullptr ? otherwise : integer(parameter);
}

bool BoundArguments::is_true(std::size_t parameter, bool otherwise) const {
  return values_[parameter] == nullptr ? otherwise : jinja::is_true(*values_[parameter]);
}

void BoundArguments::refuse_type(std::size_t parameter, std::string_view wanted) const {
  refuse(fmt::format("{} of {} should be {}, not {}", quote(parameters_[parameter]),
                     quote(function_), wanted, type_name(*values_[parameter])));
}

}  // namespace gumbel::jinja
