#include <fmt/format.h>

#include "base/quote.h"
#include "text/jinja/expression_parser.h"

namespace gumbel::jinja {

namespace {

std::string describe(const Token& token) {
  switch (token.kind) {
    case Token::Kind::kEnd:
      return "the end of the template";
    case Token::Kind::kBlockEnd:
    case Token::Kind::kPrintEnd:
      return "the end of the tag";
    case Token::Kind::kText:
    case Token::Kind::kBlockBegin:
    case Token::Kind::kPrintBegin:
      return "text";
    default:
      return quote(token.text, 40);
  }
}

}  // namespace

const Token& TokenStream::peek(std::size_t ahead) const {
  return tokens_[std::min(at_ + ahead, tokens_.size() - 1)];
}

Token TokenStream::take() {
  Token token = peek();
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenStream::take_if(std::string_view spelling) {
  if (!peek().is(spelling)) return false;
  take();
  return true;
}

bool TokenStream::take_word_if(std::string_view word) {
  if (!peek().is_word(word)) return false;
  take();
  return true;
}

void TokenStream::expect(std::string_view spelling) {
  if (!take_if(spelling)) fail_unexpected(quote(spelling));
}

void TokenStream::expect_word(std::string_view word) {
  if (!take_word_if(word)) fail_unexpected(quote(word));
}

void TokenStream::expect(Token::Kind kind, std::string_view what) {
  if (peek().kind != kind) fail_unexpected(what);
  take();
}

std::string TokenStream::expect_name() {
  if (peek().kind != Token::Kind::kName) fail_unexpected("a name");
  const Token token = take();
  for (const std::string_view constant : {"true", "false", "none", "True", "False", "None"}) {
    if (token.text == constant)
      fail_at(token.line, fmt::format("{} cannot be assigned to", quote(constant)));
  }
  return token.text;
}

void TokenStream::fail_unexpected(std::string_view wanted) const {
  fail_at(line(), fmt::format("expected {}, found {}", wanted, describe(peek())));
}

}  // namespace gumbel::jinja
