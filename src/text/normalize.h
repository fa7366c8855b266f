// Unicode normalization.
#pragma once

#include <string>
#include <string_view>

namespace gumbel {

/// `text`, which must be valid UTF-8, in Normalization Form C (Unicode Standard Annex 15). Time
/// n log n at worst, in the longest run of combining marks.
std::string normalize_nfc(std::string_view text);

}  // namespace gumbel
