// ggml's tensor types: their numbers, sizes, and the unpacking of their blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "program/weight_rows.h"
#include "program/weight_type.h"

namespace gumbel {

/// The weight type that a GGUF file numbers `ggml_type`, or nothing where Gumbel does not have it.
std::optional<WeightType> gguf_weight_type(uint32_t ggml_type);

/// The name of a ggml type, e.g. "q4_k", or "type 99" where the number is unknown.
std::string gguf_type_name(uint32_t ggml_type);

/// "f32, f16, ...": the types that gguf_weight_type knows.
std::string gguf_known_types();

/// Bytes of one block (traits(type).block columns) in a GGUF file; of one element for float types.
int64_t gguf_block_bytes(WeightType type);

/// Unpacks one row from its GGUF blocks into row `row` of `out`, which has the type and the columns
/// already. `data` holds exactly out.columns / block blocks. Lossless: dequantize_row gives what
/// ggml's dequantization of the row gives, bit for bit.
void unpack_gguf_row(std::span<const std::byte> data, int64_t row, WeightRows& out);

}  // namespace gumbel
