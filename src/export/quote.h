// Names from untrusted files, made fit for a one-line message.
#pragma once

#include <string>
#include <string_view>

namespace gumbel {

/// `text` in single quotes: bytes outside printable ASCII as \xNN, and cut after 96 bytes with
/// "...".
std::string quote(std::string_view text);

}  // namespace gumbel
