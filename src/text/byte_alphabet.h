// How vocabularies spell bytes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gumbel {

/// The byte that SentencePiece's "<0x41>" spells; none if `spelling` is anything else.
std::optional<unsigned char> byte_of_spelling(std::string_view spelling);

/// The bytes that `spelling` spells in GPT-2's printable alphabet; none if it holds a character
/// outside the alphabet. Bytes 21..7E, A1..AC and AE..FF are spelt as the character of that number,
/// the 68 others, ascending, as U+0100 to U+0143.
std::optional<std::string> bytes_of_spelling(std::string_view spelling);

}  // namespace gumbel
