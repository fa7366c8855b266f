// A template as a tree. Lines are for messages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/values.h"

namespace gumbel::jinja {

struct Expression;
using ExpressionPointer = std::unique_ptr<const Expression>;

/// What stands between the parentheses of a call, a filter or a test.
struct CallArguments {
  std::vector<Expression> positional;
  std::vector<std::pair<std::string, Expression>> named;
  ExpressionPointer more_positional;  ///< After *, or null.
  ExpressionPointer more_named;       ///< After **, or null.
};

struct Literal {
  Value value;
};

struct Name {
  std::string name;
};

struct ListLiteral {
  std::vector<Expression> items;
  bool is_tuple = false;
};

struct DictLiteral {
  std::vector<std::pair<Expression, Expression>> items;
};

struct Unary {
  enum class Operator : std::uint8_t { kNot, kMinus, kPlus };
  Operator op;
  ExpressionPointer operand;
};

struct Arithmetic {
  enum class Operator : std::uint8_t {
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kFloorDivide,
    kRemainder,
    kPower,
  };
  Operator op;
  ExpressionPointer left;
  ExpressionPointer right;
};

/// a ~ b ~ c
struct Concatenation {
  std::vector<Expression> parts;
};

/// `a and b and c`, `a or b or c`: of two operands at least.
struct Logical {
  bool is_and;
  std::vector<Expression> operands;
};

/// a < b <= c: every neighbouring pair is compared, each operand evaluated once.
struct Comparison {
  enum class Operator : std::uint8_t {
    kEqual,
    kUnequal,
    kLess,
    kLessOrEqual,
    kGreater,
    kGreaterOrEqual,
    kIn,
    kNotIn,
  };
  ExpressionPointer first;
  std::vector<std::pair<Operator, Expression>> rest;
};

/// `value if condition else otherwise`; without `otherwise`, undefined.
struct Conditional {
  ExpressionPointer condition;
  ExpressionPointer value;
  ExpressionPointer otherwise;
};

struct Attribute {
  ExpressionPointer object;
  std::string name;
};

struct Item {
  ExpressionPointer object;
  ExpressionPointer key;
};

/// object[start:stop:step], each of which may be null.
struct Slice {
  ExpressionPointer object;
  ExpressionPointer start;
  ExpressionPointer stop;
  ExpressionPointer step;
};

struct Call {
  ExpressionPointer callee;
  CallArguments arguments;
};

/// `value | name(arguments)`; of the body of a filter block where `value` is null.
struct Filter {
  ExpressionPointer value;
  std::string name;
  CallArguments arguments;
};

struct Test {
  ExpressionPointer value;
  std::string name;
  CallArguments arguments;
  bool is_negated;
};

struct Expression {
  std::variant<Literal, Name, ListLiteral, DictLiteral, Unary, Arithmetic, Concatenation, Logical,
               Comparison, Conditional, Attribute, Item, Slice, Call, Filter, Test>
      node;
  std::size_t line;
  std::size_t height = 1;  ///< Of the tree below and with this.
};

struct Statement;
using Block = std::vector<Statement>;

/// What an assignment or a loop gives values to: a name, an attribute of a namespace, or a tuple.
struct Target {
  std::string name;       ///< Empty: a tuple.
  std::string attribute;  ///< Empty: the name itself.
  std::vector<Target> items;
};

struct OutputText {
  std::string text;
};

struct Print {
  Expression value;
};

struct For {
  Target target;
  Expression items;
  std::optional<Expression> condition;
  Block body;
  Block otherwise;  ///< Where there are no items.
};

struct If {
  std::vector<std::pair<Expression, Block>> branches;
  Block otherwise;
};

struct Assignment {
  Target target;
  Expression value;
};

/// {% set target | filters %}body{% endset %}
struct BlockAssignment {
  Target target;
  std::optional<Expression> filters;
  Block body;
};

/// Also the body of a call block, whose name is "caller".
struct MacroStatement {
  std::string name;
  std::vector<std::string> parameters;
  std::vector<Expression> defaults;  ///< Of the last parameters.
  Block body;
  bool reads_varargs = false;
  bool reads_kwargs = false;
  bool reads_caller = false;
};

struct CallBlock {
  Expression call;  ///< A Call.
  MacroStatement caller;
};

struct FilterBlock {
  Expression filters;
  Block body;
};

struct With {
  std::vector<std::pair<Target, Expression>> assignments;
  Block body;
};

/// {% generation %}: what the assistant says, in a scope of its own.
struct Generation {
  Block body;
};

struct Break {};
struct Continue {};

struct Statement {
  std::variant<OutputText, Print, For, If, Assignment, BlockAssignment, MacroStatement, CallBlock,
               FilterBlock, With, Generation, Break, Continue>
      node;
  std::size_t line;
};

}  // namespace gumbel::jinja
