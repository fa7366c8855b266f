// Text of input files within error messages.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace gumbel {

/// `text` between quotes, in one line of valid UTF-8: control characters are escaped, invalid parts
/// replaced, and what goes beyond `limit` bytes is cut off.
std::string quote_text(std::string_view text, std::size_t limit = 64);

}  // namespace gumbel
