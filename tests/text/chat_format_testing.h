// What the tests of chat formats share.
#pragma once

#include "text/chat_format.h"
#include "text/text_testing.h"

namespace gumbel {

/// The format of tests/data/text/templates/<name>.jinja.
inline ChatFormat format_of(const std::string& name) {
  const auto format = detect_chat_format(read_test_data("text/templates/" + name + ".jinja"));
  EXPECT_TRUE(format.has_value()) << name;
  return format.value_or(ChatFormat{});
}

/// The whole text, "<BOS>" for the token.
inline std::string text_of(const ChatFormat& format, const std::vector<Message>& messages,
                           bool generation, Thinking thinking = Thinking::kDefault) {
  std::string text = format.starts_with_bos ? "<BOS>" : "";
  for (const ChatSegment& segment : render_chat(format, messages, generation, thinking))
    text += segment.text;
  return text;
}

}  // namespace gumbel
