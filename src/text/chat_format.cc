#include "text/chat_format.h"

#include <algorithm>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"

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

// An answer and the thought that precedes it, which may be none.
struct DividedAnswer {
  std::string thought;
  std::string answer;
};

// Takes every thought out, wherever it stands, and ends without a beginning.
std::string without_thoughts(std::string_view text, const ChatFormat& format) {
  std::string answer;
  if (format.thought_begin.empty() || format.thought_end.empty()) return std::string(text);
  while (!text.empty()) {
    const std::size_t end = text.find(format.thought_end);
    const std::string_view part = text.substr(0, end);
    answer += part.substr(0, part.find(format.thought_begin));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + format.thought_end.size());
  }
  return answer;
}

// An earlier answer as the templates read it: what precedes the last end of a thought is none of
// it, whether or not the thought's beginning, which the prompt may have held, is there.
DividedAnswer divide_answer(std::string_view text, const ChatFormat& format) {
  if (format.strip_thinking && format.thoughts_anywhere) {
    const std::string answer = without_thoughts(text, format);
    return {"", std::string(format.trim_content ? trimmed(answer) : answer)};
  }
  if (format.trim_content) text = trimmed(text);
  const std::string_view marker = format.thought_end.empty() ? kEndOfThinking : format.thought_end;
  const std::size_t end = format.strip_thinking ? text.rfind(marker) : std::string_view::npos;
  if (end == std::string_view::npos) return {"", std::string(text)};
  std::string_view thought = text.substr(0, text.find(marker));
  const std::size_t begin = thought.rfind(format.thought_begin);
  if (begin != std::string_view::npos) thought.remove_prefix(begin + format.thought_begin.size());
  text.remove_prefix(end + marker.size());
  text.remove_prefix(std::min(text.find_first_not_of('\n'), text.size()));
  return {std::string(trimmed(thought)), std::string(text)};
}

class Renderer {
 public:
  Renderer(const ChatFormat& format, bool thinks) : format_(format), thinks_(thinks) {}

  void scaffold(std::string_view text) { add(text, ControlTokens::kParse); }
  void content(std::string_view text) { add(text, ControlTokens::kPlain); }

  void system(std::string_view text) {
    scaffold(format_.system_prefix);
    if (thinks_) scaffold(format_.thinking_system);
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

  void assistant(std::string_view text, bool keep_thought) {
    const DividedAnswer divided = divide_answer(text, format_);
    scaffold(format_.assistant_prefix);
    if (keep_thought) {
      scaffold(format_.thought_begin + "\n");
      content(divided.thought);
      scaffold("\n" + format_.thought_end + "\n\n");
    }
    content(divided.answer);
    scaffold(format_.assistant_suffix);
  }

  void generation_prompt() {
    scaffold(format_.generation_prompt);
    scaffold(thinks_ ? format_.thinking_prompt : format_.no_thinking_prompt);
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
  bool thinks_;
};

std::vector<std::int64_t> encode_segments(const Tokenizer& tokenizer,
                                          const std::vector<ChatSegment>& rendered) {
  std::vector<TextSegment> segments;
  for (const ChatSegment& segment : rendered) segments.push_back({segment.text, segment.control});
  return tokenizer.encode(segments);
}

}  // namespace

bool resolve_thinking(const ChatFormat& format, Thinking thinking) {
  if (thinking == Thinking::kDefault) return format.thinks;
  const bool wanted = thinking == Thinking::kOn;
  if (wanted == format.thinks || format.thinking_switch) return wanted;
  if (wanted)
    fail(ErrorCode::kUnsupported, "thinking: expected off, chat format {} has no thinking, got on",
         quote(format.name));
  fail(ErrorCode::kUnsupported, "thinking: expected on, chat format {} always thinks, got off",
       quote(format.name));
}

std::vector<ChatSegment> render_chat(const ChatFormat& format, std::span<const Message> messages,
                                     bool add_generation_prompt, Thinking thinking) {
  const bool thinks = resolve_thinking(format, thinking);
  std::optional<std::string> system;  // not yet written
  if (!messages.empty() && messages[0].role == "system") {
    system = messages[0].content;
    messages = messages.subspan(1);
  } else if (!format.default_system.empty()) {
    system = format.default_system;
  }

  Renderer renderer(format, thinks);
  if (!format.system_in_first_user) {
    if (system || !format.system_preamble.empty() || (thinks && !format.thinking_system.empty()))
      renderer.system(system.value_or(""));
    system.reset();
  }
  const auto last_user =
      std::find_if(messages.rbegin(), messages.rend(),
                   [](const Message& message) { return message.role == "user"; });
  const auto after_last_user = static_cast<std::size_t>(messages.rend() - last_user);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    if (message.role == "user") {
      renderer.user(system, message.content);
      system.reset();
    } else if (message.role == "assistant") {
      renderer.assistant(message.content, format.keep_last_thought && i >= after_last_user);
    } else if (message.role == "system") {
      fail(ErrorCode::kInvalidArgument, "chat: only the first message can be the system message");
    } else {
      fail(ErrorCode::kInvalidArgument, "chat: expected the role system, user or assistant, got {}",
           quote(message.role));
    }
  }
  if (system) {
    fail(ErrorCode::kInvalidArgument, "chat: in format {} a system message needs a user's message",
         format.name);
  }
  if (add_generation_prompt) renderer.generation_prompt();
  return std::move(renderer.segments);
}

std::vector<std::int64_t> encode_chat(const Tokenizer& tokenizer, const ChatFormat& format,
                                      std::span<const Message> messages, bool add_generation_prompt,
                                      Thinking thinking) {
  std::vector<std::int64_t> ids =
      encode_segments(tokenizer, render_chat(format, messages, add_generation_prompt, thinking));
  if (format.starts_with_bos && tokenizer.bos_id() >= 0) {
    ids.insert(ids.begin(), tokenizer.bos_id());
  }
  return ids;
}

std::vector<std::int64_t> encode_reply(const Tokenizer& tokenizer, const ChatFormat& format,
                                       std::string_view user_message, std::int64_t last,
                                       Thinking thinking) {
  Renderer renderer(format, resolve_thinking(format, thinking));
  renderer.scaffold(format.assistant_suffix);
  renderer.user(std::nullopt, user_message);
  renderer.generation_prompt();
  std::vector<std::int64_t> ids = encode_segments(tokenizer, renderer.segments);
  if (!ids.empty() && ids.front() == last) ids.erase(ids.begin());
  return ids;
}

ThoughtMarkers thought_markers(const ChatFormat& format, Thinking thinking) {
  ThoughtMarkers markers;
  markers.begin = format.thought_begin;
  markers.end = format.thought_end;
  markers.header = format.thought_header;
  markers.anywhere = format.thoughts_anywhere;
  const bool thinks = resolve_thinking(format, thinking);
  if (markers.begin.empty() || markers.end.empty()) return markers;
  const std::string& prompt = thinks ? format.thinking_prompt : format.no_thinking_prompt;
  const std::size_t begin = prompt.rfind(markers.begin);
  markers.begun = begin != std::string::npos &&
                  prompt.find(markers.end, begin + markers.begin.size()) == std::string::npos;
  return markers;
}

}  // namespace gumbel
