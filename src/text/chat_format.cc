#include "text/chat_format.h"

#include <algorithm>

#include "base/error.h"
#include "text/quote.h"
#include "text/utf8.h"

namespace gumbel {
namespace {

constexpr std::string_view kEndOfThinking = "</think>";

std::string_view trimmed(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = read_utf8(text);
    if (!is_white_space(step.character)) break;
    text.remove_prefix(step.length);
  }
  std::size_t end = 0;  // after the last character that is not white space
  for (std::size_t i = 0; i < text.size();) {
    const Utf8Step step = read_utf8(text.substr(i));
    i += step.length;
    if (!is_white_space(step.character)) end = i;
  }
  return text.substr(0, end);
}

class Renderer {
 public:
  explicit Renderer(const ChatFormat& format) : format_(format) {}

  void scaffold(std::string_view text) { add(text, ControlTokens::kParse); }
  void content(std::string_view text) { add(text, ControlTokens::kPlain); }

  void system(std::string_view text) {
    scaffold(format_.system_prefix);
    scaffold(format_.system_preamble);
    content(format_.trim_content ? trimmed(text) : text);
    scaffold(format_.system_suffix);
  }

  void user(const std::optional<std::string>& system, std::string_view text) {
    scaffold(format_.user_prefix);
    if (system) {
      content(*system);
      content("\n\n");
    }
    content(format_.trim_content ? trimmed(text) : text);
    scaffold(format_.user_suffix);
  }

  void assistant(std::string_view text) {
    if (format_.strip_thinking) {
      const std::size_t thought = text.rfind(kEndOfThinking);
      if (thought != std::string_view::npos) {
        text.remove_prefix(thought + kEndOfThinking.size());
        text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
      }
    }
    scaffold(format_.assistant_prefix);
    content(format_.trim_content ? trimmed(text) : text);
    scaffold(format_.assistant_suffix);
  }

  std::vector<ChatSegment> segments;

 private:
  // Joins neighbours of one kind, so that what spells a token is seen whole.
  void add(std::string_view text, ControlTokens control) {
    if (text.empty()) return;
    if (segments.empty() || segments.back().control != control) segments.push_back({"", control});
    segments.back().text += text;
  }

  const ChatFormat& format_;
};

std::vector<std::int64_t> encode_segments(const Tokenizer& tokenizer,
                                          const std::vector<ChatSegment>& rendered) {
  std::vector<TextSegment> segments;
  for (const ChatSegment& segment : rendered) segments.push_back({segment.text, segment.control});
  return tokenizer.encode(segments);
}

}  // namespace

std::vector<ChatSegment> render_chat(const ChatFormat& format, std::span<const Message> messages,
                                     bool add_generation_prompt) {
  std::optional<std::string> system;  // not yet written
  if (!messages.empty() && messages[0].role == "system") {
    system = messages[0].content;
    messages = messages.subspan(1);
  } else if (!format.default_system.empty()) {
    system = format.default_system;
  }

  Renderer renderer(format);
  if (!format.system_in_first_user) {
    if (system || !format.system_preamble.empty()) renderer.system(system.value_or(""));
    system.reset();
  }
  for (const Message& message : messages) {
    if (message.role == "user") {
      renderer.user(system, message.content);
      system.reset();
    } else if (message.role == "assistant") {
      renderer.assistant(message.content);
    } else if (message.role == "system") {
      fail(ErrorCode::kInvalidArgument, "chat: only the first message can be the system message");
    } else {
      fail(ErrorCode::kInvalidArgument, "chat: expected the role system, user or assistant, got {}",
           quote_text(message.role));
    }
  }
  if (system) {
    fail(ErrorCode::kInvalidArgument, "chat: in format {} a system message needs a user's message",
         format.name);
  }
  if (add_generation_prompt) renderer.scaffold(format.generation_prompt);
  return std::move(renderer.segments);
}

std::vector<std::int64_t> encode_chat(const Tokenizer& tokenizer, const ChatFormat& format,
                                      std::span<const Message> messages,
                                      bool add_generation_prompt) {
  std::vector<std::int64_t> ids =
      encode_segments(tokenizer, render_chat(format, messages, add_generation_prompt));
  if (format.starts_with_bos && tokenizer.bos_id() >= 0) {
    ids.insert(ids.begin(), tokenizer.bos_id());
  }
  return ids;
}

std::vector<std::int64_t> encode_reply(const Tokenizer& tokenizer, const ChatFormat& format,
                                       std::string_view user_message, std::int64_t last) {
  Renderer renderer(format);
  renderer.scaffold(format.assistant_suffix);
  renderer.user(std::nullopt, user_message);
  renderer.scaffold(format.generation_prompt);
  std::vector<std::int64_t> ids = encode_segments(tokenizer, renderer.segments);
  if (!ids.empty() && ids.front() == last) ids.erase(ids.begin());
  return ids;
}

}  // namespace gumbel
