// The FlatBuffers header of a program file: Program to bytes and back.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "program/program.h"

namespace gumbel {

/// The header of `program`. Its length depends on everything but the numbers in WeightInfo.
std::vector<std::byte> encode_header(const Program& program);

/// The program that `header` describes; `tokenizer` refers to bytes of `header`. Throws
/// Error(kCorruptFile) where it is not a well-formed header; verify() checks what it says.
Program decode_header(std::span<const std::byte> header);

}  // namespace gumbel
