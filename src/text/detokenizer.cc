#include "text/detokenizer.h"

#include "base/utf8.h"

namespace gumbel {

Detokenizer::Detokenizer(const Tokenizer& tokenizer, DetokenizerOptions options)
    : tokenizer_(&tokenizer), options_(options), at_start_(options.at_text_start) {}

std::string Detokenizer::add(std::int64_t id) {
  const TokenType type = tokenizer_->type(id);
  const bool is_control = type == TokenType::kControl || type == TokenType::kUnknown;
  if (is_control && !options_.show_control) return {};
  std::string piece = tokenizer_->piece(id);
  if (!is_control) {
    if (at_start_ && tokenizer_->decode_strips_prefix() && piece.starts_with(' '))
      piece.erase(0, 1);
    at_start_ = false;
  }
  pending_ += piece;

  std::string text;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Utf8Step step = read_utf8(rest);
    if (step.state == Utf8Step::State::kTruncated) break;
    text += step.state == Utf8Step::State::kCharacter ? rest.substr(0, step.length)
                                                      : kReplacementCharacter;
    rest.remove_prefix(step.length);
  }
  pending_.erase(0, pending_.size() - rest.size());
  return text;
}

std::string Detokenizer::finish() {
  const std::string text(pending_.empty() ? std::string_view() : kReplacementCharacter);
  pending_.clear();
  at_start_ = options_.at_text_start;
  return text;
}

}  // namespace gumbel
