#include "text/jinja/filters.h"

#include <fmt/format.h>

#include "base/quote.h"

namespace gumbel::jinja {

namespace {

FilterFunction find_filter(std::string_view name) {
  const FilterFunction found = find_text_filter(name);
  return found != nullptr ? found : find_list_filter(name);
}

}  // namespace

bool is_filter(std::string_view name) { return find_filter(name) != nullptr; }

Value apply_filter(std::string_view name, const Value& value, const Arguments& arguments,
                   Budget& budget) {
  const FilterFunction filter = find_filter(name);
  if (filter == nullptr) refuse(fmt::format("there is no filter {}", quote(name)));
  budget.take_steps();
  return filter(value, arguments, budget);
}

}  // namespace gumbel::jinja
