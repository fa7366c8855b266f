// Expressions of templates, by the precedence that Jinja2 gives operators.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/lexer.h"
#include "text/jinja/syntax.h"

namespace gumbel::jinja {

/// The parser's place in the tokens and what it has seen.
class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& peek(std::size_t ahead = 0) const;
  Token take();
  /// Takes the next token if it is this operator, or this word.
  bool take_if(std::string_view spelling);
  bool take_word_if(std::string_view word);
  /// Takes the next token, which must be this. Throws otherwise.
  void expect(std::string_view spelling);
  void expect_word(std::string_view word);
  void expect(Token::Kind kind, std::string_view what);
  /// A name that may be assigned to.
  std::string expect_name();
  std::size_t line() const { return peek().line; }
  [[noreturn]] void fail_unexpected(std::string_view wanted) const;

 private:
  std::vector<Token> tokens_;
  std::size_t at_ = 0;
};

class ExpressionParser {
 public:
  explicit ExpressionParser(TokenStream& tokens) : tokens_(tokens) {}

  /// One expression.
  Expression parse();
  /// One without a conditional: what a loop goes through, before its `if`.
  Expression parse_without_condition();
  /// One, or a tuple without parentheses.
  Expression parse_tuple();
  Expression parse_tuple_without_condition();
  /// `name(arguments) | name ...` over nothing: the filters of a block.
  Expression parse_filters_of_block();

  /// All that was named so far.
  std::set<std::string, std::less<>>& names() { return names_; }

 private:
  Expression tuple(bool with_condition);
  Expression logical_or();
  Expression logical_and();
  Expression logical_not();
  Expression comparison();
  Expression sum();
  Expression concatenation();
  Expression product();
  Expression power();
  Expression unary(bool with_filters);
  Expression primary();
  Expression string();
  Expression parentheses();
  Expression list();
  Expression dict();
  Expression postfix(Expression object);
  Expression attribute(Expression object);
  Expression subscript(Expression object);
  Expression filters_and_tests(Expression value);
  Expression filter(ExpressionPointer value);
  Expression test(Expression value);
  CallArguments arguments();
  bool at_test_argument() const;

  TokenStream& tokens_;
  std::size_t depth_ = 0;
  std::set<std::string, std::less<>> names_;
};

}  // namespace gumbel::jinja
