// One message of a conversation.
#pragma once

#include <string>

namespace gumbel {

/// A message and who wrote it: `role` is "system", "user" or "assistant".
struct Message {
  std::string role;
  std::string content;
};

}  // namespace gumbel
