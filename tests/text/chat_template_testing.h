// What the tests of chat templates share.
#pragma once

#include "text/chat_template.h"
#include "text/text_testing.h"

namespace gumbel {

inline ChatTemplate compiled(const std::string& source) {
  return {source, "<BOS>", "<EOS>", told_thought_markers(source)};
}

/// tests/data/text/templates/<name>.jinja, whose BOS is spelt <BOS>.
inline ChatTemplate template_named(const std::string& name) {
  return compiled(read_test_data("text/templates/" + name + ".jinja"));
}

/// The same with the tokens of `tokenizer`.
inline ChatTemplate template_named(const std::string& name, const Tokenizer& tokenizer) {
  const std::string source = read_test_data("text/templates/" + name + ".jinja");
  return compile_chat_template(source, tokenizer, told_thought_markers(source));
}

/// The whole text.
inline std::string text_of(const ChatTemplate& chat, const std::vector<Message>& messages,
                           bool generation, Thinking thinking = Thinking::kDefault) {
  std::string text;
  for (const jinja::Stretch& stretch : chat.render(messages, generation, thinking))
    text += stretch.text;
  return text;
}

}  // namespace gumbel
