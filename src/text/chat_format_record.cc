#include "text/chat_format_record.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace gumbel {
namespace {

// Calls visit(name, member) for every member of a format.
template <typename Format, typename Visit>
void for_each_member(Format& format, const Visit& visit) {
  visit("name", format.name);
  visit("starts_with_bos", format.starts_with_bos);
  visit("system_prefix", format.system_prefix);
  visit("system_suffix", format.system_suffix);
  visit("user_prefix", format.user_prefix);
  visit("user_suffix", format.user_suffix);
  visit("assistant_prefix", format.assistant_prefix);
  visit("assistant_suffix", format.assistant_suffix);
  visit("generation_prompt", format.generation_prompt);
  visit("default_system", format.default_system);
  visit("system_preamble", format.system_preamble);
  visit("system_in_first_user", format.system_in_first_user);
  visit("trim_content", format.trim_content);
  visit("strip_thinking", format.strip_thinking);
  visit("end_of_turn", format.end_of_turn);
}

// Calls visit(name, pointer to member) for the members that came later, which a record has only
// where they are not the default.
template <typename Visit>
void for_each_later_member(const Visit& visit) {
  visit("thinks", &ChatFormat::thinks);
  visit("thinking_switch", &ChatFormat::thinking_switch);
  visit("thinking_system", &ChatFormat::thinking_system);
  visit("thinking_prompt", &ChatFormat::thinking_prompt);
  visit("no_thinking_prompt", &ChatFormat::no_thinking_prompt);
  visit("thought_begin", &ChatFormat::thought_begin);
  visit("thought_end", &ChatFormat::thought_end);
  visit("thought_header", &ChatFormat::thought_header);
  visit("thoughts_anywhere", &ChatFormat::thoughts_anywhere);
  visit("keep_last_thought", &ChatFormat::keep_last_thought);
}

}  // namespace

std::string serialize_chat_format(const ChatFormat& format) {
  nlohmann::json json;
  for_each_member(format, [&](const char* name, const auto& member) { json[name] = member; });
  for_each_later_member([&](const char* name, const auto member) {
    if (format.*member != ChatFormat{}.*member) json[name] = format.*member;
  });
  return json.dump();
}

ChatFormat parse_chat_format(std::string_view record) {
  ChatFormat format;
  try {
    const nlohmann::json json = nlohmann::json::parse(record);
    for_each_member(format, [&](const char* name, auto& member) { json.at(name).get_to(member); });
    for_each_later_member([&](const char* name, const auto member) {
      if (json.contains(name)) json.at(name).get_to(format.*member);
    });
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::kCorruptFile, "chat format: expected a record of it, got {} bytes: {}",
         record.size(), error.what());
  }
  return format;
}

}  // namespace gumbel
