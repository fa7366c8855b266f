// The operators of expressions, as Python defines them.
#pragma once

#include "text/jinja/budget.h"
#include "text/jinja/syntax.h"
#include "text/jinja/values.h"

namespace gumbel::jinja {

/// Each throws Error(kInvalidArgument) for values that Python refuses, for integers beyond 64 bits,
/// and before it makes more than the budget has.
Value arithmetic(Arithmetic::Operator op, const Value& left, const Value& right, Budget& budget);
Value sign(Unary::Operator op, const Value& operand);
bool compare(Comparison::Operator op, const Value& left, const Value& right, Budget& budget);

/// Whether `item in container` holds.
bool contains(const Value& container, const Value& item, Budget& budget);

/// object[start:stop:step]; none stands for what is left out.
Value slice(const Value& object, const Value& start, const Value& stop, const Value& step,
            Budget& budget);

/// `text` repeated `count` times.
Text repeat(const Text& text, std::int64_t count, Budget& budget);

}  // namespace gumbel::jinja
