// Raising gumbel::Error with a formatted message.
#pragma once

#include <fmt/format.h>
#include <gumbel/error.h>

#include <utility>

namespace gumbel {

/// Throws Error(code, formatted message). The message is one line without a trailing period.
template <typename... Args>
[[noreturn]] void fail(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(code, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace gumbel
