// Rendering a template's tree.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/budget.h"
#include "text/jinja/syntax.h"
#include "text/jinja/text.h"
#include "text/jinja/values.h"

namespace gumbel::jinja {

/// The names that a loop's pass, a macro's call or a block defines.
struct Scope {
  Scope* parent = nullptr;
  std::map<std::string_view, Value> names;  // the syntax tree holds their spelling
};

/// Renders one template once. The tree must outlive it.
class Interpreter {
 public:
  using Variables = std::vector<std::pair<std::string, Value>>;

  Interpreter(const Variables& variables, const Limits& limits);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Throws Error(kInvalidArgument), with the line, where the template or Jinja2 refuses.
  Text render(const Block& body);

 private:
  /// How a statement ended: what a loop around it does next.
  enum class Flow : std::uint8_t { kNext, kBreak, kContinue };

  // Statements: interpreter.cc.
  Flow run(const Block& body);
  Flow run(const OutputText& node);
  Flow run(const Print& node);
  Flow run(const For& node);
  Flow run(const If& node);
  Flow run(const Assignment& node);
  Flow run(const BlockAssignment& node);
  Flow run(const MacroStatement& node);
  Flow run(const CallBlock& node);
  Flow run(const FilterBlock& node);
  Flow run(const With& node);
  Flow run(const Generation& node);
  static Flow run(const Break&) { return Flow::kBreak; }
  static Flow run(const Continue&) { return Flow::kContinue; }
  Flow run_in_scope(const Block& body);
  std::vector<Value> loop_items(const For& node);
  /// What `body` prints, in a scope of its own.
  std::pair<Text, Flow> capture(const Block& body);
  void assign(const Target& target, const Value& value);
  void print(const Value& value);
  Value make_macro(const MacroStatement& node);

  // Expressions: evaluate.cc.
  Value evaluate(const Expression& expression);
  static Value evaluate(const Literal& node) { return node.value; }
  Value evaluate(const Name& node);
  Value evaluate(const ListLiteral& node);
  Value evaluate(const DictLiteral& node);
  Value evaluate(const Unary& node);
  Value evaluate(const Arithmetic& node);
  Value evaluate(const Concatenation& node);
  Value evaluate(const Logical& node);
  Value evaluate(const Comparison& node);
  Value evaluate(const Conditional& node);
  Value evaluate(const Attribute& node);
  Value evaluate(const Item& node);
  Value evaluate(const Slice& node);
  Value evaluate(const Call& node);
  Value evaluate(const Filter& node);
  Value evaluate(const Test& node);
  Value evaluate_or_none(const ExpressionPointer& expression);
  Value look_up(std::string_view name) const;
  Arguments evaluate(const CallArguments& node);
  Value call(const Value& callee, const Arguments& arguments);
  Value call_macro(const Macro& macro, const Arguments& arguments);
  void bind(const MacroStatement& node, const Arguments& arguments);

  class ScopeGuard;
  class DepthGuard;

  const Variables& variables_;
  Budget budget_;
  Text out_;
  Value block_text_;  // what the filters of a block begin with
  std::deque<Scope> scopes_;
  Scope* scope_;
  std::size_t closures_ = 0;  // macros made: they hold their scope
  std::size_t depth_ = 0;
  std::size_t line_ = 1;
  std::vector<std::shared_ptr<Namespace>>
      namespaces_;  // all that were made: they may hold each other
};

/// A scope that is closed with the block that opens it.
class Interpreter::ScopeGuard {
 public:
  explicit ScopeGuard(Interpreter& interpreter, Scope* parent);
  ~ScopeGuard();
  ScopeGuard(const ScopeGuard&) = delete;
  ScopeGuard& operator=(const ScopeGuard&) = delete;

 private:
  Interpreter& interpreter_;
  Scope* outer_;
  std::size_t closures_;
};

/// One more level of statements and expressions within each other.
class Interpreter::DepthGuard {
 public:
  explicit DepthGuard(Interpreter& interpreter);
  ~DepthGuard() { --interpreter_.depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  Interpreter& interpreter_;
};

}  // namespace gumbel::jinja
