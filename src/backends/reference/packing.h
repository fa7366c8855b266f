// The reference backend's arrangement of a matrix: row after row, each with its parts in the order
// of WeightRows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "program/weight_rows.h"

namespace gumbel::reference {

/// Bytes of one packed row.
uint64_t row_bytes(WeightType type, int64_t columns);

/// Writes all rows of `rows` to `packed` [rows * row_bytes].
void pack_rows(const WeightRows& rows, std::span<std::byte> packed);

/// Reads `count` packed rows of `columns` elements, the first at `packed`.
void unpack_rows(const std::byte* packed, WeightType type, int64_t count, int64_t columns,
                 WeightRows& rows);

}  // namespace gumbel::reference
