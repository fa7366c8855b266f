#include "text/jinja/expression_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <initializer_list>
#include <limits>

#include "base/quote.h"

namespace gumbel::jinja {

namespace {

using Kind = Token::Kind;

constexpr std::size_t kMaximumHeight = 200;

// A node over children of these heights.
template <typename Node>
Expression make(Node node, std::size_t line, std::initializer_list<std::size_t> heights = {}) {
  std::size_t height = 1;
  for (const std::size_t child : heights) height = std::max(height, child + 1);
  if (height > kMaximumHeight)
    fail_at(line, fmt::format("an expression nests deeper than {} levels", kMaximumHeight));
  return {std::move(node), line, height};
}

ExpressionPointer box(Expression expression) {
  return std::make_unique<const Expression>(std::move(expression));
}

std::size_t height_of(const ExpressionPointer& expression) {
  return expression == nullptr ? 0 : expression->height;
}

std::size_t height_of(const std::vector<Expression>& expressions) {
  std::size_t height = 0;
  for (const Expression& expression : expressions) height = std::max(height, expression.height);
  return height;
}

std::size_t height_of(const CallArguments& arguments) {
  std::size_t height =
      std::max({height_of(arguments.positional), height_of(arguments.more_positional),
                height_of(arguments.more_named)});
  for (const auto& [name, value] : arguments.named) height = std::max(height, value.height);
  return height;
}

// One more level of what nests in the source, while it lives.
class Level {
 public:
  Level(std::size_t& depth, std::size_t line) : depth_(depth) {
    if (depth_ >= kMaximumDepth)
      fail_at(line, fmt::format("an expression nests deeper than {} levels", kMaximumDepth));
    ++depth_;
  }
  ~Level() { --depth_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  std::size_t& depth_;
};

Value read_integer(const Token& token) {
  std::string_view digits = token.text;
  int base = 10;
  if (digits.size() > 2 && digits[0] == '0' && digits[1] > '9') {
    base = (digits[1] | 0x20) == 'x' ? 16 : (digits[1] | 0x20) == 'o' ? 8 : 2;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits.find_first_not_of('0') != std::string_view::npos &&
             digits[0] == '0') {
    fail_at(token.line, fmt::format("the number {} begins with 0", quote(token.text, 40)));
  }
  std::int64_t number = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, base);
  if (error == std::errc::result_out_of_range)
    fail_at(token.line, fmt::format("the integer {} exceeds 64 bits", quote(token.text, 40)));
  if (error != std::errc() || end != digits.data() + digits.size())
    fail_at(token.line, fmt::format("{} is no number", quote(token.text, 40)));
  return Value(number);
}

Value read_float(const Token& token) {
  double number = 0;
  const char* const last = token.text.data() + token.text.size();
  const auto [end, error] = std::from_chars(token.text.data(), last, number);
  if (error == std::errc::result_out_of_range) {
    // Python's float() overflows to infinity and underflows to zero.
    const bool is_small =
        token.text.find("e-") != std::string::npos || token.text.find("E-") != std::string::npos;
    number = is_small ? 0.0 : std::numeric_limits<double>::infinity();
  } else if (error != std::errc() || end != last) {
    fail_at(token.line, fmt::format("{} is no number", quote(token.text, 40)));
  }
  return Value(number);
}

}  // namespace

Expression ExpressionParser::parse() {
  const Level level(depth_, tokens_.line());
  Expression value = logical_or();
  while (tokens_.peek().is_word("if")) {
    const std::size_t line = tokens_.take().line;
    Expression condition = logical_or();
    ExpressionPointer otherwise = tokens_.take_word_if("else") ? box(parse()) : nullptr;
    const std::initializer_list<std::size_t> heights{value.height, condition.height,
                                                     height_of(otherwise)};
    value =
        make(Conditional{box(std::move(condition)), box(std::move(value)), std::move(otherwise)},
             line, heights);
  }
  return value;
}

Expression ExpressionParser::parse_without_condition() {
  const Level level(depth_, tokens_.line());
  return logical_or();
}

Expression ExpressionParser::parse_tuple() { return tuple(true); }
Expression ExpressionParser::parse_tuple_without_condition() { return tuple(false); }

Expression ExpressionParser::tuple(bool with_condition) {
  const auto next = [&] { return with_condition ? parse() : parse_without_condition(); };
  const std::size_t line = tokens_.line();
  Expression first = next();
  if (!tokens_.peek().is(",")) return first;
  std::vector<Expression> items;
  items.push_back(std::move(first));
  while (tokens_.take_if(",")) {
    const Token& token = tokens_.peek();
    if (token.kind == Kind::kPrintEnd || token.kind == Kind::kBlockEnd || token.is(")")) break;
    items.push_back(next());
  }
  const std::size_t height = height_of(items);
  return make(ListLiteral{std::move(items), true}, line, {height});
}

Expression ExpressionParser::logical_or() {
  const std::size_t line = tokens_.line();
  Expression first = logical_and();
  if (!tokens_.peek().is_word("or")) return first;
  Logical logical{false, {}};
  logical.operands.push_back(std::move(first));
  while (tokens_.take_word_if("or")) logical.operands.push_back(logical_and());
  const std::size_t height = height_of(logical.operands);
  return make(std::move(logical), line, {height});
}

Expression ExpressionParser::logical_and() {
  const std::size_t line = tokens_.line();
  Expression first = logical_not();
  if (!tokens_.peek().is_word("and")) return first;
  Logical logical{true, {}};
  logical.operands.push_back(std::move(first));
  while (tokens_.take_word_if("and")) logical.operands.push_back(logical_not());
  const std::size_t height = height_of(logical.operands);
  return make(std::move(logical), line, {height});
}

Expression ExpressionParser::logical_not() {
  if (!tokens_.peek().is_word("not")) return comparison();
  const std::size_t line = tokens_.take().line;
  const Level level(depth_, line);
  Expression operand = logical_not();
  const std::size_t height = operand.height;
  return make(Unary{Unary::Operator::kNot, box(std::move(operand))}, line, {height});
}

Expression ExpressionParser::comparison() {
  using Operator = Comparison::Operator;
  const auto next_operator = [&]() -> std::optional<Operator> {
    static constexpr std::pair<std::string_view, Operator> kSpellings[]{
        {"==", Operator::kEqual},       {"!=", Operator::kUnequal},
        {"<=", Operator::kLessOrEqual}, {">=", Operator::kGreaterOrEqual},
        {"<", Operator::kLess},         {">", Operator::kGreater}};
    for (const auto& [spelling, op] : kSpellings)
      if (tokens_.take_if(spelling)) return op;
    if (tokens_.take_word_if("in")) return Operator::kIn;
    if (!tokens_.peek().is_word("not") || !tokens_.peek(1).is_word("in")) return std::nullopt;
    tokens_.take();
    tokens_.take();
    return Operator::kNotIn;
  };
  const std::size_t line = tokens_.line();
  Expression first = sum();
  std::size_t height = first.height;
  Comparison node;
  while (const std::optional<Operator> op = next_operator()) {
    node.rest.emplace_back(*op, sum());
    height = std::max(height, node.rest.back().second.height);
  }
  if (node.rest.empty()) return first;
  node.first = box(std::move(first));
  return make(std::move(node), line, {height});
}

namespace {

Expression join(Arithmetic::Operator op, Expression left, Expression right, std::size_t line) {
  const std::size_t left_height = left.height;
  const std::size_t right_height = right.height;
  return make(Arithmetic{op, box(std::move(left)), box(std::move(right))}, line,
              {left_height, right_height});
}

}  // namespace

Expression ExpressionParser::sum() {
  using Operator = Arithmetic::Operator;
  Expression left = concatenation();
  for (;;) {
    const std::size_t line = tokens_.line();
    if (tokens_.take_if("+")) {
      left = join(Operator::kAdd, std::move(left), concatenation(), line);
    } else if (tokens_.take_if("-")) {
      left = join(Operator::kSubtract, std::move(left), concatenation(), line);
    } else {
      return left;
    }
  }
}

Expression ExpressionParser::concatenation() {
  const std::size_t line = tokens_.line();
  Expression first = product();
  if (!tokens_.peek().is("~")) return first;
  Concatenation node;
  node.parts.push_back(std::move(first));
  while (tokens_.take_if("~")) node.parts.push_back(product());
  const std::size_t height = height_of(node.parts);
  return make(std::move(node), line, {height});
}

Expression ExpressionParser::product() {
  using Operator = Arithmetic::Operator;
  static constexpr std::pair<std::string_view, Operator> kSpellings[]{
      {"*", Operator::kMultiply},
      {"//", Operator::kFloorDivide},
      {"/", Operator::kDivide},
      {"%", Operator::kRemainder}};
  Expression left = power();
  for (;;) {
    const std::size_t line = tokens_.line();
    const auto* const found =
        std::find_if(std::begin(kSpellings), std::end(kSpellings),
                     [&](const auto& entry) { return tokens_.take_if(entry.first); });
    if (found == std::end(kSpellings)) return left;
    left = join(found->second, std::move(left), power(), line);
  }
}

Expression ExpressionParser::power() {
  Expression left = unary(true);
  while (tokens_.peek().is("**")) {
    const std::size_t line = tokens_.take().line;
    left = join(Arithmetic::Operator::kPower, std::move(left), unary(true), line);
  }
  return left;
}

// The sign binds closer than a filter: -x | f is (-x) | f.
Expression ExpressionParser::unary(bool with_filters) {
  const std::size_t line = tokens_.line();
  const Level level(depth_, line);
  const bool is_minus = tokens_.peek().is("-");
  if (!is_minus && !tokens_.peek().is("+")) {
    Expression value = postfix(primary());
    return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
  }
  tokens_.take();
  Expression operand = unary(false);
  const std::size_t height = operand.height;
  Expression value = make(
      Unary{is_minus ? Unary::Operator::kMinus : Unary::Operator::kPlus, box(std::move(operand))},
      line, {height});
  value = postfix(std::move(value));
  return with_filters ? filters_and_tests(std::move(value)) : std::move(value);
}

Expression ExpressionParser::primary() {
  const Token& token = tokens_.peek();
  switch (token.kind) {
    case Kind::kString:
      return string();
    case Kind::kInteger:
      return make(Literal{read_integer(token)}, tokens_.take().line);
    case Kind::kFloat:
      return make(Literal{read_float(token)}, tokens_.take().line);
    case Kind::kName: {
      Token name = tokens_.take();
      if (name.text == "true" || name.text == "True") return make(Literal{Value(true)}, name.line);
      if (name.text == "false" || name.text == "False")
        return make(Literal{Value(false)}, name.line);
      if (name.text == "none" || name.text == "None") return make(Literal{Value()}, name.line);
      names_.insert(name.text);
      return make(Name{std::move(name.text)}, name.line);
    }
    default:
      if (token.is("(")) return parentheses();
      if (token.is("[")) return list();
      if (token.is("{")) return dict();
      tokens_.fail_unexpected("a value");
  }
}

Expression ExpressionParser::string() {
  const std::size_t line = tokens_.line();
  std::string text;
  while (tokens_.peek().kind == Kind::kString) text += tokens_.take().text;
  return make(Literal{text_value(text)}, line);
}

Expression ExpressionParser::parentheses() {
  const std::size_t line = tokens_.take().line;
  if (tokens_.take_if(")")) return make(ListLiteral{{}, true}, line);
  Expression inner = tuple(true);
  tokens_.expect(")");
  return inner;
}

Expression ExpressionParser::list() {
  const std::size_t line = tokens_.take().line;
  std::vector<Expression> items;
  while (!tokens_.take_if("]")) {
    if (!items.empty()) {
      tokens_.expect(",");
      if (tokens_.take_if("]")) break;
    }
    items.push_back(parse());
  }
  const std::size_t height = height_of(items);
  return make(ListLiteral{std::move(items), false}, line, {height});
}

Expression ExpressionParser::dict() {
  const std::size_t line = tokens_.take().line;
  DictLiteral node;
  std::size_t height = 0;
  while (!tokens_.take_if("}")) {
    if (!node.items.empty()) {
      tokens_.expect(",");
      if (tokens_.take_if("}")) break;
    }
    Expression key = parse();
    tokens_.expect(":");
    Expression value = parse();
    height = std::max({height, key.height, value.height});
    node.items.emplace_back(std::move(key), std::move(value));
  }
  return make(std::move(node), line, {height});
}

Expression ExpressionParser::postfix(Expression object) {
  for (;;) {
    const Token& token = tokens_.peek();
    if (token.is(".")) {
      object = attribute(std::move(object));
    } else if (token.is("[")) {
      object = subscript(std::move(object));
    } else if (token.is("(")) {
      const std::size_t line = token.line;
      CallArguments given = arguments();
      const std::size_t heights[]{object.height, height_of(given)};
      object = make(Call{box(std::move(object)), std::move(given)}, line, {heights[0], heights[1]});
    } else {
      return object;
    }
  }
}

Expression ExpressionParser::attribute(Expression object) {
  const std::size_t line = tokens_.take().line;
  const std::size_t height = object.height;
  if (tokens_.peek().kind == Kind::kInteger) {
    Expression key = primary();
    return make(Item{box(std::move(object)), box(std::move(key))}, line, {height});
  }
  if (tokens_.peek().kind != Kind::kName) tokens_.fail_unexpected("a name");
  return make(Attribute{box(std::move(object)), tokens_.take().text}, line, {height});
}

Expression ExpressionParser::subscript(Expression object) {
  const std::size_t line = tokens_.take().line;
  const auto at_end_of_part = [&] { return tokens_.peek().is(":") || tokens_.peek().is("]"); };
  ExpressionPointer parts[3];
  bool is_slice = false;
  if (!at_end_of_part()) parts[0] = box(tuple(true));
  for (std::size_t part = 1; part < 3 && tokens_.take_if(":"); ++part) {
    is_slice = true;
    if (!at_end_of_part()) parts[part] = box(parse());
  }
  if (!is_slice && parts[0] == nullptr) tokens_.fail_unexpected("a value");
  tokens_.expect("]");
  const std::size_t height =
      std::max({object.height, height_of(parts[0]), height_of(parts[1]), height_of(parts[2])});
  if (!is_slice) return make(Item{box(std::move(object)), std::move(parts[0])}, line, {height});
  return make(
      Slice{box(std::move(object)), std::move(parts[0]), std::move(parts[1]), std::move(parts[2])},
      line, {height});
}

Expression ExpressionParser::filters_and_tests(Expression value) {
  for (;;) {
    const Token& token = tokens_.peek();
    if (token.is("|")) {
      tokens_.take();
      value = filter(box(std::move(value)));
    } else if (token.is_word("is")) {
      tokens_.take();
      value = test(std::move(value));
    } else if (token.is("(")) {
      const std::size_t line = token.line;
      CallArguments given = arguments();
      const std::size_t heights[]{value.height, height_of(given)};
      value = make(Call{box(std::move(value)), std::move(given)}, line, {heights[0], heights[1]});
    } else {
      return value;
    }
  }
}

Expression ExpressionParser::parse_filters_of_block() {
  Expression value = filter(nullptr);
  while (tokens_.take_if("|")) value = filter(box(std::move(value)));
  return value;
}

Expression ExpressionParser::filter(ExpressionPointer value) {
  if (tokens_.peek().kind != Kind::kName) tokens_.fail_unexpected("a filter's name");
  Token name = tokens_.take();
  CallArguments given;
  if (tokens_.peek().is("(")) given = arguments();
  const std::size_t heights[]{height_of(value), height_of(given)};
  return make(Filter{std::move(value), std::move(name.text), std::move(given)}, name.line,
              {heights[0], heights[1]});
}

// Whether an argument without parentheses follows the name of a test.
bool ExpressionParser::at_test_argument() const {
  const Token& token = tokens_.peek();
  switch (token.kind) {
    case Kind::kString:
    case Kind::kInteger:
    case Kind::kFloat:
      return true;
    case Kind::kName:
      return !token.is_word("else") && !token.is_word("or") && !token.is_word("and");
    default:
      return token.is("[") || token.is("{");
  }
}

Expression ExpressionParser::test(Expression value) {
  const bool is_negated = tokens_.take_word_if("not");
  if (tokens_.peek().kind != Kind::kName) tokens_.fail_unexpected("a test's name");
  Token name = tokens_.take();
  CallArguments given;
  if (tokens_.peek().is("(")) {
    given = arguments();
  } else if (at_test_argument()) {
    if (tokens_.peek().is_word("is"))
      fail_at(name.line, "tests cannot follow each other: one needs parentheses");
    given.positional.push_back(postfix(primary()));
  }
  const std::size_t heights[]{value.height, height_of(given)};
  return make(Test{box(std::move(value)), std::move(name.text), std::move(given), is_negated},
              name.line, {heights[0], heights[1]});
}

CallArguments ExpressionParser::arguments() {
  tokens_.expect("(");
  CallArguments given;
  const auto refuse_order = [&](bool refused) {
    if (refused) fail_at(tokens_.line(), "the arguments of a call are in no order that it has");
  };
  for (bool first = true; !tokens_.take_if(")"); first = false) {
    if (!first) {
      tokens_.expect(",");
      if (tokens_.take_if(")")) break;
    }
    if (tokens_.take_if("**")) {
      refuse_order(given.more_named != nullptr);
      given.more_named = box(parse());
    } else if (tokens_.take_if("*")) {
      refuse_order(given.more_positional != nullptr || given.more_named != nullptr);
      given.more_positional = box(parse());
    } else if (tokens_.peek().kind == Kind::kName && tokens_.peek(1).is("=")) {
      refuse_order(given.more_named != nullptr);
      std::string name = tokens_.take().text;
      tokens_.take();
      given.named.emplace_back(std::move(name), parse());
    } else {
      refuse_order(given.more_positional != nullptr || given.more_named != nullptr ||
                   !given.named.empty());
      given.positional.push_back(parse());
    }
  }
  return given;
}

}  // namespace gumbel::jinja
