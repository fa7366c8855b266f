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

}  // namespace

std::string serialize_chat_format(const ChatFormat& format) {
  nlohmann::json json;
  for_each_member(format, [&](const char* name, const auto& member) { json[name] = member; });
  return json.dump();
}

ChatFormat parse_chat_format(std::string_view record) {
  ChatFormat format;
  try {
    const nlohmann::json json = nlohmann::json::parse(record);
    for_each_member(format, [&](const char* name, auto& member) { json.at(name).get_to(member); });
  } catch (const nlohmann::json::exception& error) {
    fail(ErrorCode::kCorruptFile, "chat format: expected a record of it, got {} bytes: {}",
         record.size(), error.what());
  }
  return format;
}

}  // namespace gumbel
