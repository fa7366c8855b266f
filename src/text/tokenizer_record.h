// The bytes of a tokenizer that a program file carries: used in place, without unpacking.
#pragma once

#include <cstddef>
#include <vector>

#include "text/tokenizer_definition.h"

namespace gumbel {

/// The record of `definition`; equal definitions give equal bytes. Its layout is described in
/// record_layout.h. Throws Error(kCorruptFile) where the definition contradicts itself: lengths
/// that disagree, ids outside the vocabulary, a merge that names no token.
std::vector<std::byte> serialize_tokenizer(const TokenizerDefinition& definition);

}  // namespace gumbel
