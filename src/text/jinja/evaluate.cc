// The interpreter's expressions.
#include <fmt/format.h>

#include <algorithm>

#include "base/quote.h"
#include "text/jinja/attributes.h"
#include "text/jinja/filters.h"
#include "text/jinja/globals.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/methods.h"
#include "text/jinja/operators.h"
#include "text/jinja/printing.h"
#include "text/jinja/tests.h"

namespace gumbel::jinja {

Value Interpreter::evaluate(const Expression& expression) {
  const DepthGuard depth(*this);
  budget_.take_steps();
  line_ = expression.line;
  return std::visit([this](const auto& node) { return evaluate(node); }, expression.node);
}

Value Interpreter::evaluate_or_none(const ExpressionPointer& expression) {
  return expression == nullptr ? Value() : evaluate(*expression);
}

Value Interpreter::look_up(std::string_view name) const {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent) {
    const auto found = scope->names.find(name);
    if (found != scope->names.end()) return found->second;
  }
  for (const auto& [variable, value] : variables_)
    if (variable == name) return value;
  if (is_global(name)) return make_value(Function{std::string(name), Value(), false});
  return undefined(fmt::format("{} is undefined", quote(name)));
}

Value Interpreter::evaluate(const Name& node) { return look_up(node.name); }

Value Interpreter::evaluate(const ListLiteral& node) {
  budget_.take_bytes(node.items.size() * sizeof(Value));
  std::vector<Value> items;
  items.reserve(node.items.size());
  for (const Expression& item : node.items) items.push_back(evaluate(item));
  return node.is_tuple ? make_tuple(std::move(items)) : make_list(std::move(items));
}

Value Interpreter::evaluate(const DictLiteral& node) {
  Dict dict;
  for (const auto& [key_node, value_node] : node.items) {
    const Value key = evaluate(key_node);
    set_item(dict, key, evaluate(value_node), budget_);
  }
  return make_dict(std::move(dict));
}

Value Interpreter::evaluate(const Unary& node) {
  const Value operand = evaluate(*node.operand);
  return node.op == Unary::Operator::kNot ? Value(!is_true(operand)) : sign(node.op, operand);
}

Value Interpreter::evaluate(const Arithmetic& node) {
  const Value left = evaluate(*node.left);
  return arithmetic(node.op, left, evaluate(*node.right), budget_);
}

Value Interpreter::evaluate(const Concatenation& node) {
  Text joined;
  for (const Expression& part : node.parts) joined.append(to_text(evaluate(part), budget_));
  return make_value(std::move(joined));
}

Value Interpreter::evaluate(const Logical& node) {
  Value value;
  for (const Expression& operand : node.operands) {
    value = evaluate(operand);
    if (is_true(value) != node.is_and) break;
  }
  return value;
}

Value Interpreter::evaluate(const Comparison& node) {
  Value left = evaluate(*node.first);
  for (const auto& [op, expression] : node.rest) {
    Value right = evaluate(expression);
    if (!compare(op, left, right, budget_)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::evaluate(const Conditional& node) {
  if (is_true(evaluate(*node.condition))) return evaluate(*node.value);
  if (node.otherwise != nullptr) return evaluate(*node.otherwise);
  return undefined("an if without an else has no value where its condition is false");
}

Value Interpreter::evaluate(const Attribute& node) {
  return get_attribute(evaluate(*node.object), node.name, budget_);
}

Value Interpreter::evaluate(const Item& node) {
  const Value object = evaluate(*node.object);
  return get_item(object, evaluate(*node.key), budget_);
}

Value Interpreter::evaluate(const Slice& node) {
  const Value object = evaluate(*node.object);
  const Value start = evaluate_or_none(node.start);
  const Value stop = evaluate_or_none(node.stop);
  return slice(object, start, stop, evaluate_or_none(node.step), budget_);
}

Value Interpreter::evaluate(const Filter& node) {
  const Value value = node.value == nullptr ? block_text_ : evaluate(*node.value);
  return apply_filter(node.name, value, evaluate(node.arguments), budget_);
}

Value Interpreter::evaluate(const Test& node) {
  const Value value = evaluate(*node.value);
  return Value(apply_test(node.name, value, evaluate(node.arguments), budget_) != node.is_negated);
}

Arguments Interpreter::evaluate(const CallArguments& node) {
  Arguments arguments;
  for (const Expression& value : node.positional) arguments.positional.push_back(evaluate(value));
  for (const auto& [name, value] : node.named) arguments.named.emplace_back(name, evaluate(value));
  if (node.more_positional != nullptr) {
    const std::vector<Value> more = items_of(evaluate(*node.more_positional), budget_);
    arguments.positional.insert(arguments.positional.end(), more.begin(), more.end());
  }
  if (node.more_named != nullptr) {
    const Value more = evaluate(*node.more_named);
    const auto* dict = get_if<Dict>(more);
    if (dict == nullptr) refuse(fmt::format("** before {}", type_name(more)));
    for (const auto& [key, value] : dict->items) {
      const auto* name = get_if<Text>(key);
      if (name == nullptr) refuse(fmt::format("an argument's name is {}", type_name(key)));
      arguments.named.emplace_back(name->view(), value);
    }
    budget_.take_bytes(dict->items.size() * sizeof(arguments.named.front()));
  }
  return arguments;
}

Value Interpreter::evaluate(const Call& node) {
  const Value callee = evaluate(*node.callee);
  const Arguments arguments = evaluate(node.arguments);
  const std::size_t line = line_;
  Value result = call(callee, arguments);
  line_ = line;
  return result;
}

Value Interpreter::call(const Value& callee, const Arguments& arguments) {
  if (const auto* macro = get_if<Macro>(callee)) return call_macro(*macro, arguments);
  if (const auto* function = get_if<Function>(callee)) {
    if (function->is_method)
      return call_method(function->object, function->name, arguments, budget_);
    return call_global(function->name, arguments, namespaces_, budget_);
  }
  if (const auto* missing = get_if<Undefined>(callee)) refuse(missing->what);
  refuse(fmt::format("{} cannot be called", type_name(callee)));
}

Value Interpreter::call_macro(const Macro& macro, const Arguments& arguments) {
  const MacroStatement& node = *macro.statement;
  const ScopeGuard scope(*this, macro.scope);
  Text outer = std::exchange(out_, Text());
  bind(node, arguments);
  run(node.body);
  return make_value(std::exchange(out_, std::move(outer)));
}

// Parameters have their values in order: a default may name those before it.
void Interpreter::bind(const MacroStatement& node, const Arguments& arguments) {
  const std::size_t count = node.parameters.size();
  const std::size_t without_default = count - node.defaults.size();
  const auto& positional = arguments.positional;
  const auto name_of = [&] { return quote(node.name); };
  std::vector<Value> more;
  if (positional.size() > count) {
    if (!node.reads_varargs)
      refuse(fmt::format("{} takes at most {} arguments, not {}", name_of(), count,
                         positional.size()));
    more.assign(positional.begin() + static_cast<std::ptrdiff_t>(count), positional.end());
  }
  Dict more_named;
  std::optional<Value> caller;
  std::map<std::string_view, const Value*> named;
  for (const auto& [name, value] : arguments.named) {
    const auto found = std::find(node.parameters.begin(), node.parameters.end(), name);
    const auto place = static_cast<std::size_t>(found - node.parameters.begin());
    if (found != node.parameters.end()) {
      if (place < positional.size() || !named.emplace(name, &value).second)
        refuse(fmt::format("{} was given {} twice", name_of(), quote(name)));
    } else if (name == "caller" && node.reads_caller) {
      caller = value;
    } else if (node.reads_kwargs && name != "caller") {
      set_item(more_named, text_value(name), value, budget_);
    } else {
      refuse(fmt::format("{} has no parameter {}", name_of(), quote(name)));
    }
  }
  if (node.reads_varargs) scope_->names["varargs"] = make_tuple(std::move(more));
  if (node.reads_kwargs) scope_->names["kwargs"] = make_dict(std::move(more_named));
  if (node.reads_caller)
    scope_->names["caller"] = caller.value_or(undefined("the macro was called by no call block"));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& parameter = node.parameters[i];
    Value& slot = scope_->names[parameter];
    if (i < positional.size()) {
      slot = positional[i];
    } else if (const auto given = named.find(parameter); given != named.end()) {
      slot = *given->second;
    } else if (i >= without_default) {
      Value value = evaluate(node.defaults[i - without_default]);
      slot = std::move(value);
    } else {
      slot = undefined(fmt::format("{} of {} was not given", quote(parameter), name_of()));
    }
  }
}

}  // namespace gumbel::jinja
