#include "text/jinja/interpreter.h"

#include <fmt/format.h>
#include <gumbel/error.h>

#include "base/quote.h"
#include "text/jinja/lexer.h"
#include "text/jinja/printing.h"

namespace gumbel::jinja {

namespace {

// Of blocks, expressions and macros within each other while they run. A level takes some hundred
// bytes of the stack, so that all of them fit in the smallest stacks that threads have.
constexpr std::size_t kMaximumRunningDepth = 600;

}  // namespace

Interpreter::ScopeGuard::ScopeGuard(Interpreter& interpreter, Scope* parent)
    : interpreter_(interpreter), outer_(interpreter.scope_), closures_(interpreter.closures_) {
  interpreter_.scopes_.push_back({parent, {}});
  interpreter_.scope_ = &interpreter_.scopes_.back();
}

Interpreter::ScopeGuard::~ScopeGuard() {
  interpreter_.scope_ = outer_;
  // Scopes close in the order opposite to that in which they opened, so the last is this one unless
  // a macro made within holds it.
  if (interpreter_.closures_ == closures_) interpreter_.scopes_.pop_back();
}

Interpreter::DepthGuard::DepthGuard(Interpreter& interpreter) : interpreter_(interpreter) {
  if (interpreter_.depth_ >= kMaximumRunningDepth)
    refuse(fmt::format("macros and blocks run deeper than {} levels", kMaximumRunningDepth));
  ++interpreter_.depth_;
}

Interpreter::Interpreter(const Variables& variables, const Limits& limits)
    : variables_(variables), budget_(limits), scopes_(1), scope_(&scopes_.front()) {}

Interpreter::~Interpreter() {
  for (const auto& made : namespaces_) made->attributes.clear();
}

Text Interpreter::render(const Block& body) {
  try {
    run(body);
  } catch (const Error& error) {
    fail_at(line_, error.what());
  }
  return std::move(out_);
}

Interpreter::Flow Interpreter::run(const Block& body) {
  const DepthGuard depth(*this);
  for (const Statement& statement : body) {
    budget_.take_steps();
    line_ = statement.line;
    const Flow flow = std::visit([this](const auto& node) { return run(node); }, statement.node);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run_in_scope(const Block& body) {
  const ScopeGuard scope(*this, scope_);
  return run(body);
}

Interpreter::Flow Interpreter::run(const OutputText& node) {
  budget_.take_bytes(node.text.size());
  out_.append(node.text, Origin::kTemplate);
  return Flow::kNext;
}

void Interpreter::print(const Value& value) {
  if (const auto* text = get_if<Text>(value)) {
    budget_.take_bytes(text->size());
    out_.append(*text);
  } else {
    out_.append(to_text(value, budget_));
  }
}

Interpreter::Flow Interpreter::run(const Print& node) {
  print(evaluate(node.value));
  return Flow::kNext;
}

std::vector<Value> Interpreter::loop_items(const For& node) {
  std::vector<Value> items = items_of(evaluate(node.items), budget_);
  if (!node.condition) return items;
  std::vector<Value> kept;
  for (Value& item : items) {
    const ScopeGuard scope(*this, scope_);
    assign(node.target, item);
    if (is_true(evaluate(*node.condition))) kept.push_back(std::move(item));
  }
  return kept;
}

Interpreter::Flow Interpreter::run(const For& node) {
  std::vector<Value> items = loop_items(node);
  if (items.empty()) return run_in_scope(node.otherwise);
  const auto loop = std::make_shared<Loop>();
  loop->length = items.size();
  loop->items = std::move(items);
  const Value loop_value = make_value(loop);
  // However the loop ends, it lets go of what it holds, which may be itself.
  const std::unique_ptr<Loop, void (*)(Loop*)> end_of_loop(loop.get(), [](Loop* ended) {
    ended->items.clear();
    ended->changed.reset();
  });
  Flow flow = Flow::kNext;
  bool has_completed = false;
  for (; loop->index < loop->length && flow != Flow::kBreak; ++loop->index) {
    budget_.take_steps();
    const ScopeGuard scope(*this, scope_);
    scope_->names["loop"] = loop_value;
    assign(node.target, loop->items[loop->index]);
    flow = run(node.body);
    has_completed = has_completed || flow == Flow::kNext;
  }
  // Jinja2 runs the else where no pass went through to its end, not only where there was none.
  if (!has_completed) run_in_scope(node.otherwise);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const If& node) {
  for (const auto& [condition, body] : node.branches)
    if (is_true(evaluate(condition))) return run(body);
  return run(node.otherwise);
}

Interpreter::Flow Interpreter::run(const Assignment& node) {
  assign(node.target, evaluate(node.value));
  return Flow::kNext;
}

std::pair<Text, Interpreter::Flow> Interpreter::capture(const Block& body) {
  Text outer = std::exchange(out_, Text());
  const Flow flow = run_in_scope(body);
  return {std::exchange(out_, std::move(outer)), flow};
}

Interpreter::Flow Interpreter::run(const BlockAssignment& node) {
  auto [text, flow] = capture(node.body);
  if (flow != Flow::kNext) return flow;
  Value value = make_value(std::move(text));
  if (node.filters) {
    block_text_ = value;
    value = evaluate(*node.filters);
  }
  assign(node.target, value);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const FilterBlock& node) {
  auto [text, flow] = capture(node.body);
  if (flow != Flow::kNext) return flow;
  block_text_ = make_value(std::move(text));
  print(evaluate(node.filters));
  return Flow::kNext;
}

Value Interpreter::make_macro(const MacroStatement& node) {
  ++closures_;
  budget_.take_bytes(sizeof(Scope));
  return make_value(Macro{&node, scope_});
}

Interpreter::Flow Interpreter::run(const MacroStatement& node) {
  scope_->names[node.name] = make_macro(node);
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const CallBlock& node) {
  const auto& called = std::get<Call>(node.call.node);
  const Value callee = evaluate(*called.callee);
  Arguments arguments = evaluate(called.arguments);
  arguments.named.emplace_back("caller", make_macro(node.caller));
  print(call(callee, arguments));
  return Flow::kNext;
}

Interpreter::Flow Interpreter::run(const With& node) {
  std::vector<Value> values;
  for (const auto& [target, value] : node.assignments) values.push_back(evaluate(value));
  const ScopeGuard scope(*this, scope_);
  for (std::size_t i = 0; i < values.size(); ++i) assign(node.assignments[i].first, values[i]);
  return run(node.body);
}

Interpreter::Flow Interpreter::run(const Generation& node) { return run_in_scope(node.body); }

void Interpreter::assign(const Target& target, const Value& value) {
  if (!target.attribute.empty()) {
    const Value object = look_up(target.name);
    const auto* found = get_if<std::shared_ptr<Namespace>>(object);
    if (found == nullptr)
      refuse(fmt::format("{} is {}: only attributes of a namespace can be assigned",
                         quote(target.name), type_name(object)));
    (*found)->attributes[target.attribute] = value;
  } else if (!target.name.empty()) {
    scope_->names[target.name] = value;
  } else {
    const std::vector<Value> items = items_of(value, budget_);
    if (items.size() != target.items.size())
      refuse(
          fmt::format("expected {} values to assign, found {}", target.items.size(), items.size()));
    for (std::size_t i = 0; i < items.size(); ++i) assign(target.items[i], items[i]);
  }
}

}  // namespace gumbel::jinja
