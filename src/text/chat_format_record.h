// A chat format as the text that a program file carries.
#pragma once

#include <string>
#include <string_view>

#include "text/chat_format.h"

namespace gumbel {

/// The record of `format`: a JSON object with the members' names; equal formats give equal text.
std::string serialize_chat_format(const ChatFormat& format);

/// The inverse; members for thinking that are missing, as in records of old, take their defaults.
/// Throws Error(kCorruptFile) for text that is no such record; it may be hostile.
ChatFormat parse_chat_format(std::string_view record);

}  // namespace gumbel
