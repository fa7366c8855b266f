#include "backends/reference/packing.h"

#include <cstring>

namespace gumbel::reference {
namespace {

// Calls visit(part, elements per row) for every part of `rows`, in the order of the packed row.
template <typename Rows, typename Visit>
void for_each_part(Rows& rows, const Visit& visit) {
  if (rows.rows == 0) return;
  const auto per_row = [&](size_t elements) { return elements / static_cast<size_t>(rows.rows); };
  visit(rows.floats, per_row(rows.floats.size()));
  visit(rows.halves, per_row(rows.halves.size()));
  visit(rows.scale, per_row(rows.scale.size()));
  visit(rows.minimum, per_row(rows.minimum.size()));
  visit(rows.sub_scale, per_row(rows.sub_scale.size()));
  visit(rows.sub_minimum, per_row(rows.sub_minimum.size()));
  visit(rows.codes, per_row(rows.codes.size()));
}

}  // namespace

uint64_t row_bytes(WeightType type, int64_t columns) {
  const WeightTraits& t = traits(type);
  const auto k = static_cast<uint64_t>(columns);
  if (t.is_float()) return k * static_cast<uint64_t>(t.element_bits) / 8;
  const uint64_t blocks = k / static_cast<uint64_t>(t.block);
  const uint64_t sub_blocks = t.has_sub_scale() ? k / static_cast<uint64_t>(t.sub_block) : 0;
  const uint64_t parts = t.has_minimum ? 2 : 1;
  return k + parts * (blocks * sizeof(float) + sub_blocks);
}

void pack_rows(const WeightRows& rows, std::span<std::byte> packed) {
  std::byte* out = packed.data();
  for (size_t row = 0; row < static_cast<size_t>(rows.rows); ++row) {
    for_each_part(rows, [&](const auto& part, size_t elements) {
      const size_t bytes = elements * sizeof(part[0]);
      if (bytes == 0) return;
      std::memcpy(out, part.data() + row * elements, bytes);
      out += bytes;
    });
  }
}

void unpack_rows(const std::byte* packed, WeightType type, int64_t count, int64_t columns,
                 WeightRows& rows) {
  rows.resize(type, count, columns);
  for (size_t row = 0; row < static_cast<size_t>(count); ++row) {
    for_each_part(rows, [&](auto& part, size_t elements) {
      const size_t bytes = elements * sizeof(part[0]);
      if (bytes == 0) return;
      std::memcpy(part.data() + row * elements, packed, bytes);
      packed += bytes;
    });
  }
}

}  // namespace gumbel::reference
