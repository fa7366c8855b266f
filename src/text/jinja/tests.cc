#include "text/jinja/tests.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/quote.h"
#include "text/jinja/arguments.h"
#include "text/jinja/filters.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"
#include "text/jinja/text_functions.h"

namespace gumbel::jinja {

namespace {

using Holds = bool (*)(const Value&, Budget&);
using Compares = bool (*)(const Value&, const Value&, Budget&);

template <typename T>
bool is_a(const Value& value, Budget& /*budget*/) {
  return get_if<T>(value) != nullptr;
}

bool is_number(const Value& value, Budget& /*budget*/) { return as_number(value).has_value(); }

bool is_iterable(const Value& value, Budget& /*budget*/) {
  return get_if<Text>(value) != nullptr || get_if<List>(value) != nullptr ||
         get_if<Dict>(value) != nullptr || is_undefined(value);
}

template <bool wanted>
bool is_boolean(const Value& value, Budget& /*budget*/) {
  const auto* boolean = get_if<bool>(value);
  return boolean != nullptr && *boolean == wanted;
}

bool is_same(const Value& left, const Value& right, Budget& /*budget*/) {
  if (&left.data() == &right.data()) return true;
  const auto* boolean = get_if<bool>(left);
  const auto* other = get_if<bool>(right);
  return (is_none(left) && is_none(right)) ||
         (boolean != nullptr && other != nullptr && *boolean == *other);
}

Value remainder(const Value& value, const Value& divisor, Budget& budget) {
  return arithmetic(Arithmetic::Operator::kRemainder, value, divisor, budget);
}

template <std::int64_t rest>
bool is_rest_of_two(const Value& value, Budget& budget) {
  return equal(remainder(value, Value(std::int64_t{2}), budget), Value(rest), budget);
}

bool is_divisible(const Value& value, const Value& divisor, Budget& budget) {
  return equal(remainder(value, divisor, budget), Value(std::int64_t{0}), budget);
}

template <Case wanted, Case other>
bool is_in_case(const Value& value, Budget& budget) {
  const Text text = to_text(value, budget);
  return change_case(text, wanted, budget).view() == text.view() &&
         change_case(text, other, budget).view() != text.view();
}

bool names_filter(const Value& value, Budget& /*budget*/) {
  const auto* name = get_if<Text>(value);
  return name != nullptr && is_filter(name->view());
}

bool names_test(const Value& value, Budget& /*budget*/) {
  const auto* name = get_if<Text>(value);
  return name != nullptr && is_test(name->view());
}

template <Comparison::Operator op>
bool compares(const Value& left, const Value& right, Budget& budget) {
  return compare(op, left, right, budget);
}

constexpr std::array<std::pair<std::string_view, Holds>, 21> kTests{{
    {"defined", [](const Value& value, Budget&) { return !is_undefined(value); }},
    {"undefined", is_a<Undefined>},
    {"none", is_a<None>},
    {"boolean", is_a<bool>},
    {"true", is_boolean<true>},
    {"false", is_boolean<false>},
    {"integer", is_a<std::int64_t>},
    {"float", is_a<double>},
    {"number", is_number},
    {"string", is_a<Text>},
    {"mapping", is_a<Dict>},
    {"iterable", is_iterable},
    {"sequence", is_iterable},
    {"callable", [](const Value& value, Budget&) { return is_callable(value); }},
    {"odd", is_rest_of_two<1>},
    {"even", is_rest_of_two<0>},
    {"lower", is_in_case<Case::kLower, Case::kUpper>},
    {"upper", is_in_case<Case::kUpper, Case::kLower>},
    {"filter", names_filter},
    {"test", names_test},
    {"escaped", [](const Value&, Budget&) { return false; }},
}};

constexpr std::array<std::pair<std::string_view, Compares>, 18> kComparisons{{
    {"==", compares<Comparison::Operator::kEqual>},
    {"eq", compares<Comparison::Operator::kEqual>},
    {"equalto", compares<Comparison::Operator::kEqual>},
    {"!=", compares<Comparison::Operator::kUnequal>},
    {"ne", compares<Comparison::Operator::kUnequal>},
    {"<", compares<Comparison::Operator::kLess>},
    {"lt", compares<Comparison::Operator::kLess>},
    {"lessthan", compares<Comparison::Operator::kLess>},
    {"<=", compares<Comparison::Operator::kLessOrEqual>},
    {"le", compares<Comparison::Operator::kLessOrEqual>},
    {">", compares<Comparison::Operator::kGreater>},
    {"gt", compares<Comparison::Operator::kGreater>},
    {"greaterthan", compares<Comparison::Operator::kGreater>},
    {">=", compares<Comparison::Operator::kGreaterOrEqual>},
    {"ge", compares<Comparison::Operator::kGreaterOrEqual>},
    {"in", compares<Comparison::Operator::kIn>},
    {"sameas", is_same},
    {"divisibleby", is_divisible},
}};

template <typename Table>
auto find_in(const Table& table, std::string_view name) {
  const auto* found = std::find_if(table.begin(), table.end(),
                                   [&](const auto& entry) { return entry.first == name; });
  return found == table.end() ? nullptr : found->second;
}

}  // namespace

bool is_test(std::string_view name) {
  return find_in(kTests, name) != nullptr || find_in(kComparisons, name) != nullptr;
}

bool apply_test(std::string_view name, const Value& value, const Arguments& arguments,
                Budget& budget) {
  if (const Holds holds = find_in(kTests, name)) {
    const BoundArguments given(name, arguments, {});
    return holds(value, budget);
  }
  if (const Compares compares = find_in(kComparisons, name)) {
    const BoundArguments given(name, arguments, {"other"});
    return compares(value, given.get(0), budget);
  }
  refuse(fmt::format("there is no test {}", quote(name)));
}

}  // namespace gumbel::jinja
