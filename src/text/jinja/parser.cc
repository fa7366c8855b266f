#include "text/jinja/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <utility>

#include "base/quote.h"
#include "text/jinja/expression_parser.h"
#include "text/jinja/lexer.h"

namespace gumbel::jinja {

namespace {

using Kind = Token::Kind;

class Parser {
 public:
  explicit Parser(std::string_view source) : tokens_(tokenize(source)), expressions_(tokens_) {}

  Syntax run() {
    Syntax syntax;
    syntax.body = block({});
    syntax.names = expressions_.names();
    return syntax;
  }

 private:
  // Statements up to a tag that begins with one of `ends`, whose word is the next token then; up to
  // the end of the template where there are none.
  Block block(std::initializer_list<std::string_view> ends) {
    const std::size_t line = tokens_.line();
    if (depth_ >= kMaximumDepth)
      fail_at(line, fmt::format("blocks nest deeper than {} levels", kMaximumDepth));
    ++depth_;
    Block body;
    for (;;) {
      const Token token = tokens_.take();
      if (token.kind == Kind::kEnd) {
        if (ends.size() != 0)
          fail_at(token.line, fmt::format("expected {} for line {}, found the end of the template",
                                          quote(*(ends.end() - 1)), line));
        break;
      }
      if (token.kind == Kind::kText) {
        body.push_back({OutputText{token.text}, token.line});
      } else if (token.kind == Kind::kPrintBegin) {
        body.push_back({Print{expressions_.parse_tuple()}, token.line});
        tokens_.expect(Kind::kPrintEnd, "}}");
      } else {
        const Token& word = tokens_.peek();
        if (word.kind != Kind::kName) tokens_.fail_unexpected("a statement");
        const bool at_end = std::any_of(ends.begin(), ends.end(),
                                        [&](std::string_view end) { return word.is_word(end); });
        if (at_end) break;
        statement(body);
      }
    }
    --depth_;
    return body;
  }

  void end_tag() { tokens_.expect(Kind::kBlockEnd, "%}"); }

  // A block and the tag that ends it, which is `end` alone.
  Block block_until(std::string_view end) {
    Block body = block({end});
    tokens_.take();
    end_tag();
    return body;
  }

  void statement(Block& body) {
    const Token word = tokens_.take();
    if (word.text == "print") {
      body.push_back({Print{expressions_.parse_tuple()}, word.line});
      return end_tag();
    }
    static constexpr std::array<std::pair<std::string_view, Statement (Parser::*)()>, 10> kParsers{{
        {"if", &Parser::if_statement},
        {"for", &Parser::for_statement},
        {"set", &Parser::set_statement},
        {"macro", &Parser::macro_statement},
        {"call", &Parser::call_statement},
        {"filter", &Parser::filter_statement},
        {"with", &Parser::with_statement},
        {"generation", &Parser::generation_statement},
        {"break", &Parser::break_statement},
        {"continue", &Parser::continue_statement},
    }};
    for (const auto& [name, parse_statement] : kParsers) {
      if (name != word.text) continue;
      body.push_back((this->*parse_statement)());
      body.back().line = word.line;
      return;
    }
    fail_at(word.line, fmt::format("{} is no statement of chat templates", quote(word.text, 40)));
  }

  Statement if_statement() {
    If node;
    do {
      Expression condition = expressions_.parse_tuple_without_condition();
      end_tag();
      node.branches.emplace_back(std::move(condition), block({"elif", "else", "endif"}));
    } while (tokens_.take_word_if("elif"));
    if (tokens_.take_word_if("else")) {
      end_tag();
      node.otherwise = block({"endif"});
    }
    tokens_.take();
    end_tag();
    return {std::move(node), 0};
  }

  Statement for_statement() {
    if (tokens_.peek().is_word("loop")) fail_at(tokens_.line(), "a loop cannot assign to 'loop'");
    Target target = read_target(false);
    tokens_.expect_word("in");
    Expression items = expressions_.parse_tuple_without_condition();
    std::optional<Expression> condition;
    if (tokens_.take_word_if("if")) condition = expressions_.parse();
    if (tokens_.peek().is_word("recursive"))
      fail_at(tokens_.line(), "recursive loops are not supported");
    end_tag();
    ++loops_;
    Block body = block({"else", "endfor"});
    --loops_;
    Block otherwise;
    if (tokens_.take_word_if("else")) {
      end_tag();
      otherwise = block({"endfor"});
    }
    tokens_.take();
    end_tag();
    return {For{std::move(target), std::move(items), std::move(condition), std::move(body),
                std::move(otherwise)},
            0};
  }

  // a, or a.b, or (a, b), or a, b
  Target read_target(bool with_attribute) {
    const std::size_t line = tokens_.line();
    Target target = read_one_target(with_attribute);
    if (!tokens_.peek().is(",")) return target;
    Target tuple;
    tuple.items.push_back(std::move(target));
    while (tokens_.take_if(",")) {
      if (tokens_.peek().kind != Kind::kName && !tokens_.peek().is("(")) break;
      if (tokens_.peek().is_word("in")) break;
      tuple.items.push_back(read_one_target(with_attribute));
    }
    if (tuple.items.size() > kMaximumDepth)
      fail_at(line, fmt::format("more than {} targets of one assignment", kMaximumDepth));
    return tuple;
  }

  Target read_one_target(bool with_attribute) {
    if (tokens_.peek().is("(")) {
      if (++target_depth_ > kMaximumDepth)
        fail_at(tokens_.line(), fmt::format("targets nest deeper than {} levels", kMaximumDepth));
      tokens_.take();
      Target inner = read_target(with_attribute);
      tokens_.expect(")");
      --target_depth_;
      return inner;
    }
    Target target;
    target.name = tokens_.expect_name();
    if (with_attribute && tokens_.take_if(".")) {
      if (tokens_.peek().kind != Kind::kName) tokens_.fail_unexpected("a name");
      target.attribute = tokens_.take().text;
    }
    return target;
  }

  Statement set_statement() {
    Target target = read_target(true);
    if (tokens_.take_if("=")) {
      Expression value = expressions_.parse_tuple();
      end_tag();
      return {Assignment{std::move(target), std::move(value)}, 0};
    }
    std::optional<Expression> filters;
    if (tokens_.take_if("|")) filters = expressions_.parse_filters_of_block();
    end_tag();
    Block body = block_until("endset");
    return {BlockAssignment{std::move(target), std::move(filters), std::move(body)}, 0};
  }

  void read_parameters(MacroStatement& macro) {
    tokens_.expect("(");
    while (!tokens_.take_if(")")) {
      if (!macro.parameters.empty()) {
        tokens_.expect(",");
        if (tokens_.take_if(")")) break;
      }
      std::string name = tokens_.expect_name();
      if (std::find(macro.parameters.begin(), macro.parameters.end(), name) !=
          macro.parameters.end())
        fail_at(tokens_.line(), fmt::format("the parameter {} is there twice", quote(name)));
      macro.parameters.push_back(std::move(name));
      if (tokens_.take_if("=")) {
        macro.defaults.push_back(expressions_.parse());
      } else if (!macro.defaults.empty()) {
        fail_at(tokens_.line(), "a parameter without a default follows one with a default");
      }
    }
  }

  // A macro's body; a loop around the macro is none of its own.
  void read_macro_body(MacroStatement& macro, std::string_view end) {
    end_tag();
    const std::size_t loops = std::exchange(loops_, 0);
    auto outer_names = std::exchange(expressions_.names(), {});
    macro.body = block_until(end);
    loops_ = loops;
    macro.reads_varargs = expressions_.names().contains("varargs");
    macro.reads_kwargs = expressions_.names().contains("kwargs");
    macro.reads_caller = expressions_.names().contains("caller");
    expressions_.names().merge(outer_names);
  }

  Statement macro_statement() {
    MacroStatement macro;
    macro.name = tokens_.expect_name();
    read_parameters(macro);
    read_macro_body(macro, "endmacro");
    return {std::move(macro), 0};
  }

  Statement call_statement() {
    MacroStatement caller;
    caller.name = "caller";
    if (tokens_.peek().is("(")) read_parameters(caller);
    Expression call = expressions_.parse();
    if (!std::holds_alternative<Call>(call.node)) fail_at(call.line, "expected a call");
    read_macro_body(caller, "endcall");
    return {CallBlock{std::move(call), std::move(caller)}, 0};
  }

  Statement filter_statement() {
    Expression filters = expressions_.parse_filters_of_block();
    end_tag();
    return {FilterBlock{std::move(filters), block_until("endfilter")}, 0};
  }

  Statement with_statement() {
    With node;
    while (tokens_.peek().kind != Kind::kBlockEnd) {
      if (!node.assignments.empty()) tokens_.expect(",");
      Target target = read_one_target(false);
      tokens_.expect("=");
      node.assignments.emplace_back(std::move(target), expressions_.parse());
    }
    end_tag();
    node.body = block_until("endwith");
    return {std::move(node), 0};
  }

  Statement generation_statement() {
    end_tag();
    return {Generation{block_until("endgeneration")}, 0};
  }

  Statement break_statement() {
    refuse_outside_loop("break");
    return {Break{}, 0};
  }
  Statement continue_statement() {
    refuse_outside_loop("continue");
    return {Continue{}, 0};
  }
  void refuse_outside_loop(std::string_view word) {
    if (loops_ == 0) fail_at(tokens_.line(), fmt::format("{} outside of a loop", quote(word)));
    end_tag();
  }

  TokenStream tokens_;
  ExpressionParser expressions_;
  std::size_t depth_ = 0;
  std::size_t target_depth_ = 0;
  std::size_t loops_ = 0;
};

}  // namespace

Syntax parse(std::string_view source) { return Parser(source).run(); }

}  // namespace gumbel::jinja
