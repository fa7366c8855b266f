// GPT-2's printable spelling of bytes, in which byte-level vocabularies are written.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gumbel {

/// The bytes that `spelling` spells; none if it holds a character outside the alphabet.
/// Bytes 21..7E, A1..AC and AE..FF are spelt as the character of that number, the 68 others,
/// ascending, as U+0100 to U+0143.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

/// How `bytes` are spelt.
std::string spelling_of_bytes(std::string_view bytes);

}  // namespace gumbel
