#include "text/jinja/operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/quote.h"

namespace gumbel::jinja {

namespace {

using Operator = Arithmetic::Operator;

constexpr std::string_view spelling(Operator op) {
  constexpr std::string_view kSpellings[]{"+", "-", "*", "/", "//", "%", "**"};
  return kSpellings[static_cast<std::size_t>(op)];
}

[[noreturn]] void refuse_overflow(Operator op) {
  refuse(fmt::format("the result of {} exceeds 64 bits", quote(spelling(op))));
}

[[noreturn]] void refuse_zero() { refuse("division by zero"); }

std::int64_t power(std::int64_t base, std::int64_t exponent) {
  std::int64_t result = 1;
  for (; exponent > 0; exponent /= 2) {
    if (exponent % 2 == 1 && __builtin_mul_overflow(result, base, &result))
      refuse_overflow(Operator::kPower);
    if (exponent > 1 && __builtin_mul_overflow(base, base, &base))
      refuse_overflow(Operator::kPower);
  }
  return result;
}

double floor_remainder(double left, double right) {
  if (right == 0) refuse_zero();
  double rest = std::fmod(left, right);
  if (rest != 0 && (rest < 0) != (right < 0)) rest += right;
  return rest;
}

Value of_numbers(Operator op, double left, double right) {
  switch (op) {
    case Operator::kAdd:
      return Value(left + right);
    case Operator::kSubtract:
      return Value(left - right);
    case Operator::kMultiply:
      return Value(left * right);
    case Operator::kDivide:
      if (right == 0) refuse_zero();
      return Value(left / right);
    case Operator::kFloorDivide:
      return Value(std::round((left - floor_remainder(left, right)) / right));
    case Operator::kRemainder:
      return Value(floor_remainder(left, right));
    case Operator::kPower:
      if (left == 0 && right < 0) refuse_zero();
      if (left < 0 && std::isfinite(right) && right != std::floor(right))
        refuse("a power of a negative number to a fraction is no number");
      return Value(std::pow(left, right));
  }
  return {};
}

Value of_integers(Operator op, std::int64_t left, std::int64_t right) {
  std::int64_t result = 0;
  bool overflows = false;
  switch (op) {
    case Operator::kAdd:
      overflows = __builtin_add_overflow(left, right, &result);
      break;
    case Operator::kSubtract:
      overflows = __builtin_sub_overflow(left, right, &result);
      break;
    case Operator::kMultiply:
      overflows = __builtin_mul_overflow(left, right, &result);
      break;
    case Operator::kPower:
      if (right < 0) return of_numbers(op, static_cast<double>(left), static_cast<double>(right));
      result = power(left, right);
      break;
    case Operator::kDivide:
      return of_numbers(op, static_cast<double>(left), static_cast<double>(right));
    case Operator::kFloorDivide:
    case Operator::kRemainder: {
      if (right == 0) refuse_zero();
      if (right == -1) {  // the least integer has no opposite
        overflows = op == Operator::kFloorDivide && __builtin_sub_overflow(0, left, &result);
        break;
      }
      const std::int64_t rest = left % right;
      const bool rounds_up = rest != 0 && (rest < 0) != (right < 0);
      if (op == Operator::kRemainder) {
        result = rounds_up ? rest + right : rest;
      } else {
        result = left / right - (rounds_up ? 1 : 0);
      }
      break;
    }
  }
  if (overflows) refuse_overflow(op);
  return Value(result);
}

Value repeat_list(const List& list, std::int64_t count, Budget& budget) {
  std::vector<Value> items;
  if (count > 0 && !list.items.empty()) {
    const auto limit = std::numeric_limits<std::size_t>::max() / sizeof(Value) / list.items.size();
    budget.take_bytes(static_cast<std::size_t>(count) > limit
                          ? std::numeric_limits<std::size_t>::max()
                          : static_cast<std::size_t>(count) * list.items.size() * sizeof(Value));
    for (std::int64_t i = 0; i < count; ++i)
      items.insert(items.end(), list.items.begin(), list.items.end());
  }
  return make_list(std::move(items), list.kind);
}

Value concatenate(const List& left, const List& right, Budget& budget) {
  budget.take_bytes((left.items.size() + right.items.size()) * sizeof(Value));
  std::vector<Value> items = left.items;
  items.insert(items.end(), right.items.begin(), right.items.end());
  return make_list(std::move(items), left.kind);
}

// The positions that a slice of `size` items takes: from `start`, `count` of them, `step` apart.
struct Range {
  std::int64_t start;
  std::int64_t step;
  std::int64_t count;
};

Range slice_range(std::int64_t size, const Value& start, const Value& stop, const Value& step) {
  const auto integer = [](const Value& value, std::int64_t otherwise) {
    if (is_none(value)) return otherwise;
    const auto number = as_integer(value);
    if (!number) refuse(fmt::format("{} is no place in a slice", type_name(value)));
    return *number;
  };
  const std::int64_t by = integer(step, 1);
  if (by == 0) refuse("the step of a slice is 0");
  const std::int64_t lowest = by > 0 ? 0 : -1;
  const std::int64_t highest = by > 0 ? size : size - 1;
  const auto bound = [&](const Value& value, std::int64_t otherwise) {
    if (is_none(value)) return otherwise;
    const std::int64_t at = integer(value, 0);
    return at < 0 ? std::max(lowest, at + size) : std::min(highest, at);
  };
  const std::int64_t from = bound(start, by > 0 ? 0 : highest);
  const std::int64_t to = bound(stop, by > 0 ? highest : -1);
  if (by > 0) return {from, by, from < to ? (to - from - 1) / by + 1 : 0};
  // -by would overflow for the least integer; -(by + 1) does not.
  const auto distance = static_cast<std::uint64_t>(-(by + 1)) + 1;
  const auto span = from > to ? static_cast<std::uint64_t>(from - to) : 0;
  return {from, by, span == 0 ? 0 : static_cast<std::int64_t>((span - 1) / distance + 1)};
}

Value slice_text(const Text& text, const Value& start, const Value& stop, const Value& step,
                 Budget& budget) {
  budget.take_steps(text.size() / 16);
  budget.take_bytes(text.size());
  const auto size = static_cast<std::int64_t>(count_characters(text.view()));
  const Range range = slice_range(size, start, stop, step);
  if (range.count == 0) return make_value(Text());
  if (range.step == 1) {
    const std::size_t begin = byte_offset(text.view(), static_cast<std::size_t>(range.start));
    const std::size_t length =
        byte_offset(text.view().substr(begin), static_cast<std::size_t>(range.count));
    return make_value(text.slice(begin, begin + length));
  }
  budget.take_bytes(text.size() * sizeof(std::size_t));
  std::vector<std::size_t> offsets;
  for (std::size_t at = 0; at < text.size(); at += first_length(text.view().substr(at)))
    offsets.push_back(at);
  offsets.push_back(text.size());
  Text out;
  for (std::int64_t i = 0; i < range.count; ++i) {
    const auto at = static_cast<std::size_t>(range.start + i * range.step);
    out.append_slice(text, offsets[at], offsets[at + 1]);
  }
  return make_value(std::move(out));
}

}  // namespace

Text repeat(const Text& text, std::int64_t count, Budget& budget) {
  Text out;
  if (count <= 0 || text.empty()) return out;
  const auto times = static_cast<std::size_t>(count);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(times, text.size(), &bytes))
    bytes = std::numeric_limits<std::size_t>::max();
  budget.take_bytes(bytes);
  for (std::size_t i = 0; i < times; ++i) out.append(text);
  return out;
}

Value arithmetic(Operator op, const Value& left, const Value& right, Budget& budget) {
  for (const Value* operand : {&left, &right})
    if (const auto* missing = get_if<Undefined>(*operand)) refuse(missing->what);
  const auto left_integer = as_integer(left);
  const auto right_integer = as_integer(right);
  if (left_integer && right_integer) return of_integers(op, *left_integer, *right_integer);
  const auto left_number = as_number(left);
  const auto right_number = as_number(right);
  if (left_number && right_number) return of_numbers(op, *left_number, *right_number);
  const auto* left_text = get_if<Text>(left);
  const auto* right_text = get_if<Text>(right);
  const auto* left_list = get_if<List>(left);
  const auto* right_list = get_if<List>(right);
  if (op == Operator::kAdd && left_text != nullptr && right_text != nullptr) {
    budget.take_bytes(left_text->size() + right_text->size());
    Text joined = *left_text;
    joined.append(*right_text);
    return make_value(std::move(joined));
  }
  if (op == Operator::kAdd && left_list != nullptr && right_list != nullptr &&
      left_list->kind == right_list->kind && left_list->kind != List::Kind::kIterable)
    return concatenate(*left_list, *right_list, budget);
  if (op == Operator::kMultiply) {
    if (left_text != nullptr && right_integer)
      return make_value(repeat(*left_text, *right_integer, budget));
    if (right_text != nullptr && left_integer)
      return make_value(repeat(*right_text, *left_integer, budget));
    if (left_list != nullptr && right_integer)
      return repeat_list(*left_list, *right_integer, budget);
    if (right_list != nullptr && left_integer)
      return repeat_list(*right_list, *left_integer, budget);
  }
  refuse(fmt::format("{} has no meaning for {} and {}", quote(spelling(op)), type_name(left),
                     type_name(right)));
}

Value sign(Unary::Operator op, const Value& operand) {
  if (const auto integer = as_integer(operand))
    return op == Unary::Operator::kMinus ? of_integers(Operator::kSubtract, 0, *integer)
                                         : Value(*integer);
  if (const auto number = as_number(operand))
    return Value(op == Unary::Operator::kMinus ? -*number : *number);
  if (const auto* missing = get_if<Undefined>(operand)) refuse(missing->what);
  refuse(fmt::format("a sign before {}", type_name(operand)));
}

bool compare(Comparison::Operator op, const Value& left, const Value& right, Budget& budget) {
  switch (op) {
    case Comparison::Operator::kEqual:
      return equal(left, right, budget);
    case Comparison::Operator::kUnequal:
      return !equal(left, right, budget);
    case Comparison::Operator::kLess:
      return less(left, right, budget);
    case Comparison::Operator::kLessOrEqual:
      return less(left, right, budget) || equal(left, right, budget);
    case Comparison::Operator::kGreater:
      return less(right, left, budget);
    case Comparison::Operator::kGreaterOrEqual:
      return less(right, left, budget) || equal(left, right, budget);
    case Comparison::Operator::kIn:
      return contains(right, left, budget);
    case Comparison::Operator::kNotIn:
      return !contains(right, left, budget);
  }
  return false;
}

bool contains(const Value& container, const Value& item, Budget& budget) {
  if (const auto* list = get_if<List>(container)) {
    return std::any_of(list->items.begin(), list->items.end(),
                       [&](const Value& other) { return equal(item, other, budget); });
  }
  if (const auto* dict = get_if<Dict>(container)) return find_item(*dict, item, budget) != nullptr;
  if (const auto* text = get_if<Text>(container)) {
    const auto* part = get_if<Text>(item);
    if (part == nullptr) refuse(fmt::format("a string is looked through for {}", type_name(item)));
    take_search(*text, *part, budget);
    return text->view().find(part->view()) != std::string_view::npos;
  }
  if (is_undefined(container)) return false;
  refuse(fmt::format("{} has no items to look through", type_name(container)));
}

Value slice(const Value& object, const Value& start, const Value& stop, const Value& step,
            Budget& budget) {
  if (const auto* text = get_if<Text>(object)) return slice_text(*text, start, stop, step, budget);
  if (const auto* list = get_if<List>(object)) {
    const Range range =
        slice_range(static_cast<std::int64_t>(list->items.size()), start, stop, step);
    budget.take_bytes(static_cast<std::size_t>(range.count) * sizeof(Value));
    std::vector<Value> items;
    for (std::int64_t i = 0; i < range.count; ++i)
      items.push_back(list->items[static_cast<std::size_t>(range.start + i * range.step)]);
    return make_list(std::move(items), list->kind);
  }
  if (const auto* missing = get_if<Undefined>(object)) refuse(missing->what);
  return undefined(fmt::format("{} has no slices", type_name(object)));
}

}  // namespace gumbel::jinja
