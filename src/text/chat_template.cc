#include "text/chat_template.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

namespace gumbel {
namespace {

using jinja::Origin;
using jinja::Stretch;
using jinja::Value;

// The variables by which published templates are told to think or not to.
constexpr std::array<const char*, 2> kThinkingVariables{"enable_thinking", "thinking"};

// Of an answer whose place in a conversation is looked for: letters of the private use areas, which
// no template knows and none takes off.
constexpr std::string_view kProbe = "\uE000answer\uE000";

std::string joined(const std::vector<Stretch>& stretches) {
  std::string text;
  for (const Stretch& stretch : stretches) text += stretch.text;
  return text;
}

// What follows the first place where the probe stands; nothing where it stands nowhere.
std::optional<std::vector<Stretch>> after_probe(const std::vector<Stretch>& stretches) {
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const std::size_t at = stretches[i].text.find(kProbe);
    if (at == std::string::npos) continue;
    std::vector<Stretch> rest{{stretches[i].text.substr(at + kProbe.size()), stretches[i].origin}};
    if (rest.front().text.empty()) rest.clear();
    rest.insert(rest.end(), stretches.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                stretches.end());
    return rest;
  }
  return std::nullopt;
}

std::vector<std::int64_t> encode(const Tokenizer& tokenizer,
                                 const std::vector<Stretch>& stretches) {
  std::vector<TextSegment> segments;
  for (const Stretch& stretch : stretches)
    segments.push_back({stretch.text, stretch.origin == Origin::kTemplate ? ControlTokens::kParse
                                                                          : ControlTokens::kPlain});
  return tokenizer.encode(segments);
}

// Roles are the template's words, not the user's, and are known ones for that reason.
Value role_of(const Message& message) {
  for (const std::string_view role : {"system", "user", "assistant"})
    if (message.role == role) return Value::string(role, Origin::kTemplate);
  fail(ErrorCode::kInvalidArgument, "chat: expected the role system, user or assistant, got {}",
       quote(message.role));
}

// A template may look at a conversation and copy it some times, but not without end.
jinja::Limits limits_for(std::span<const Message> messages) {
  jinja::Limits limits;
  std::size_t size = 0;
  for (const Message& message : messages) size += message.content.size();
  limits.bytes += 64 * size;
  limits.steps += 64 * size;
  return limits;
}

}  // namespace

ThoughtMarkers told_thought_markers(std::string_view source) {
  static const std::array<ThoughtMarkers, 3> kKnown{{
      {.begin = "<think>", .end = "</think>", .header = ""},
      {.begin = "[THINK]", .end = "[/THINK]", .header = ""},
      {.begin = "<|channel>", .end = "<channel|>", .header = "thought", .anywhere = true},
  }};
  for (const ThoughtMarkers& markers : kKnown)
    if (source.find(markers.end) != std::string_view::npos) return markers;
  return {};
}

ChatTemplate::ChatTemplate(std::string_view source, std::string bos, std::string eos,
                           ThoughtMarkers markers)
    : template_(source), bos_(std::move(bos)), eos_(std::move(eos)), markers_(std::move(markers)) {
  const auto by_default = prompt_for_probe(std::nullopt);
  if (!by_default) return;
  const bool has_variable =
      std::any_of(kThinkingVariables.begin(), kThinkingVariables.end(),
                  [&](const char* variable) { return template_.reads(variable); });
  const auto on = has_variable ? prompt_for_probe(true) : std::nullopt;
  const auto off = has_variable ? prompt_for_probe(false) : std::nullopt;
  switches_ = on && off && *on != *off;
  thinks_ = switches_ ? *by_default == *on : begins_thought(*by_default);
}

std::optional<std::vector<Stretch>> ChatTemplate::prompt_for_probe(
    std::optional<bool> thinking) const {
  const std::vector<Message> question{{"user", std::string(kProbe)}};
  try {
    return render_with(question, true, thinking);
  } catch (const Error&) {
    return std::nullopt;  // rendering a real conversation will say why
  }
}

bool ChatTemplate::begins_thought(const std::vector<Stretch>& prompt) const {
  if (markers_.begin.empty() || markers_.end.empty()) return false;
  const std::string tail = joined(after_probe(prompt).value_or(prompt));
  const std::size_t begin = tail.rfind(markers_.begin);
  return begin != std::string::npos &&
         tail.find(markers_.end, begin + markers_.begin.size()) == std::string::npos;
}

bool ChatTemplate::resolve_thinking(Thinking thinking) const {
  if (thinking == Thinking::kDefault) return thinks_;
  const bool wanted = thinking == Thinking::kOn;
  if (wanted == thinks_ || switches_) return wanted;
  if (wanted)
    fail(ErrorCode::kUnsupported,
         "thinking: expected off, the model's chat template has no thinking, got on");
  fail(ErrorCode::kUnsupported,
       "thinking: expected on, the model's chat template always thinks, got off");
}

std::vector<Stretch> ChatTemplate::render(std::span<const Message> messages,
                                          bool add_generation_prompt, Thinking thinking) const {
  const bool thinks = resolve_thinking(thinking);
  if (thinking == Thinking::kDefault || !switches_)
    return render_with(messages, add_generation_prompt, std::nullopt);
  return render_with(messages, add_generation_prompt, thinks);
}

std::vector<Stretch> ChatTemplate::render_with(std::span<const Message> messages,
                                               bool add_generation_prompt,
                                               std::optional<bool> thinking) const {
  std::vector<Value> written;
  for (const Message& message : messages)
    written.push_back(
        Value::dict({{"role", role_of(message)}, {"content", Value::string(message.content)}}));
  std::vector<std::pair<std::string, Value>> variables{
      {"messages", Value::list(std::move(written))},
      {"add_generation_prompt", Value(add_generation_prompt)},
      {"bos_token", Value::string(bos_, Origin::kTemplate)},
      {"eos_token", Value::string(eos_, Origin::kTemplate)},
      {"tools", Value()},
      {"documents", Value()}};
  if (thinking)
    for (const char* variable : kThinkingVariables) variables.emplace_back(variable, *thinking);
  return template_.render(variables, limits_for(messages));
}

ThoughtMarkers ChatTemplate::thought_markers(Thinking thinking) const {
  ThoughtMarkers markers = markers_;
  const bool thinks = resolve_thinking(thinking);
  const bool is_default = thinking == Thinking::kDefault || !switches_;
  const auto prompt = prompt_for_probe(is_default ? std::nullopt : std::optional<bool>(thinks));
  markers.begun = prompt && begins_thought(*prompt);
  return markers;
}

ChatTemplate compile_chat_template(std::string_view source, const Tokenizer& tokenizer,
                                   ThoughtMarkers markers) {
  const auto spelling = [&](std::int64_t id) {
    return id < 0 ? std::string() : tokenizer.decode({&id, 1});
  };
  return {source, spelling(tokenizer.bos_id()), spelling(tokenizer.eos_id()), std::move(markers)};
}

std::vector<std::int64_t> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                      std::span<const Message> messages, bool add_generation_prompt,
                                      Thinking thinking) {
  return encode(tokenizer, chat.render(messages, add_generation_prompt, thinking));
}

std::vector<std::int64_t> encode_reply(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                       std::string_view user_message, std::int64_t last,
                                       Thinking thinking) {
  const std::vector<Message> messages{{"user", "question"},
                                      {"assistant", std::string(kProbe)},
                                      {"user", std::string(user_message)}};
  const auto rest = after_probe(chat.render(messages, true, thinking));
  if (!rest)
    fail(ErrorCode::kUnsupported,
         "a reply: expected a chat template that writes answers down; encode the whole chat");
  std::vector<std::int64_t> ids = encode(tokenizer, *rest);
  if (!ids.empty() && ids.front() == last) ids.erase(ids.begin());
  return ids;
}

std::optional<std::int64_t> end_of_turn_id(const Tokenizer& tokenizer, const ChatTemplate& chat) {
  const std::vector<Message> messages{{"user", "question"}, {"assistant", std::string(kProbe)}};
  std::optional<std::vector<Stretch>> rest;
  try {
    rest = after_probe(chat.render(messages, false));
  } catch (const Error&) {
    return std::nullopt;
  }
  if (!rest) return std::nullopt;
  for (const std::int64_t id : encode(tokenizer, *rest))
    if (tokenizer.type(id) == TokenType::kControl) return id;
  return std::nullopt;
}

}  // namespace gumbel
