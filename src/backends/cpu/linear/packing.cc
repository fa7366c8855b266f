#include "backends/cpu/linear/packing.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "base/float16.h"

namespace gumbel::cpu {
namespace {

template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

template <typename T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof(T));
}

/// The addresses of the parts of one row in one record.
template <typename Byte>
struct RowOfRecord {
  Byte* record;
  int lane;  ///< row within the tile
  const WeightTraits& t;
  Layout l;

  Byte* scale(int block) const {
    return record + (block * kTileRows + lane) * (t.f32_scale ? 4 : 2);
  }
  Byte* minimum(int block) const { return record + l.minimum + (block * kTileRows + lane) * 2; }
  Byte* sub_scale(int i) const { return record + l.sub_scale + i * kTileRows + lane; }
  Byte* sub_minimum(int i) const { return record + l.sub_minimum + i * kTileRows + lane; }
  Byte* codes(int group) const { return record + l.codes + group * l.code_bytes + 4 * lane; }
};

float read_scale(const RowOfRecord<const std::byte>& row, int block) {
  return row.t.f32_scale ? load<float>(row.scale(block))
                         : f16_to_f32(load<uint16_t>(row.scale(block)));
}

float read_minimum(const RowOfRecord<const std::byte>& row, int block) {
  return f16_to_f32(load<uint16_t>(row.minimum(block)));
}

/// Writes the 32 codes of one row of a group, whose planes hold zeros for this row. `planes` points
/// at the row's first byte.
void write_codes(int bits, const uint8_t* codes, std::byte* planes) {
  for (int k = 0; k < kGroup; ++k) {
    const std::ptrdiff_t step = k / 4;
    const auto code = static_cast<unsigned>(codes[k]);
    std::byte* at = planes + k % 4;
    if (bits == 8) {
      at[64 * step] = static_cast<std::byte>(code);
      continue;
    }
    at[64 * (step % 4)] |= static_cast<std::byte>((code & 15u) << (step < 4 ? 0 : 4));
    if (bits == 5) at[256] |= static_cast<std::byte>((code >> 4 & 1u) << step);
    if (bits == 6)
      at[256 + 64 * (step / 4)] |= static_cast<std::byte>((code >> 4 & 3u) << (2 * (step % 4)));
  }
}

void read_codes(int bits, const std::byte* planes, uint8_t* codes) {
  for (int k = 0; k < kGroup; ++k) {
    const std::ptrdiff_t step = k / 4;
    const std::byte* at = planes + k % 4;
    if (bits == 8) {
      codes[k] = static_cast<uint8_t>(at[64 * step]);
      continue;
    }
    unsigned code = static_cast<unsigned>(at[64 * (step % 4)]) >> (step < 4 ? 0 : 4) & 15u;
    if (bits == 5) code |= (static_cast<unsigned>(at[256]) >> step & 1u) << 4;
    if (bits == 6)
      code |= (static_cast<unsigned>(at[256 + 64 * (step / 4)]) >> (2 * (step % 4)) & 3u) << 4;
    codes[k] = static_cast<uint8_t>(code);
  }
}

void pack_record(const WeightRows& rows, int64_t row, int64_t column,
                 const RowOfRecord<std::byte>& to) {
  const WeightTraits& t = to.t;
  const auto width = static_cast<int>(std::min<int64_t>(to.l.columns, rows.columns - column));
  const auto first = static_cast<size_t>(row * rows.columns + column);
  const size_t block = first / static_cast<size_t>(t.block);
  const size_t sub_block = first / static_cast<size_t>(t.sub_block);
  for (int i = 0; i < width / t.block; ++i) {
    const float scale = rows.scale[block + static_cast<size_t>(i)];
    if (t.f32_scale)
      store(to.scale(i), scale);
    else
      store(to.scale(i), f32_to_f16(scale));
    if (t.has_minimum)
      store(to.minimum(i), f32_to_f16(rows.minimum[block + static_cast<size_t>(i)]));
  }
  for (int i = 0; t.has_sub_scale() && i < width / t.sub_block; ++i) {
    store(to.sub_scale(i), rows.sub_scale[sub_block + static_cast<size_t>(i)]);
    if (t.has_minimum)
      store(to.sub_minimum(i), rows.sub_minimum[sub_block + static_cast<size_t>(i)]);
  }
  for (int group = 0; group < width / kGroup; ++group)
    write_codes(to.l.bits, rows.codes.data() + first + static_cast<size_t>(group * kGroup),
                to.codes(group));
}

void unpack_record(const RowOfRecord<const std::byte>& from, int64_t row, int64_t column,
                   WeightRows& rows) {
  const WeightTraits& t = from.t;
  const auto width = static_cast<int>(std::min<int64_t>(from.l.columns, rows.columns - column));
  const auto first = static_cast<size_t>(row * rows.columns + column);
  const size_t block = first / static_cast<size_t>(t.block);
  const size_t sub_block = first / static_cast<size_t>(t.sub_block);
  for (int i = 0; i < width / t.block; ++i) {
    rows.scale[block + static_cast<size_t>(i)] = read_scale(from, i);
    if (t.has_minimum) rows.minimum[block + static_cast<size_t>(i)] = read_minimum(from, i);
  }
  for (int i = 0; t.has_sub_scale() && i < width / t.sub_block; ++i) {
    rows.sub_scale[sub_block + static_cast<size_t>(i)] = load<int8_t>(from.sub_scale(i));
    if (t.has_minimum)
      rows.sub_minimum[sub_block + static_cast<size_t>(i)] = load<uint8_t>(from.sub_minimum(i));
  }
  for (int group = 0; group < width / kGroup; ++group)
    read_codes(from.l.bits, from.codes(group),
               rows.codes.data() + first + static_cast<size_t>(group * kGroup));
}

/// The bits of one element of a float type, or where they go: [columns][16] in the tile.
template <typename Byte>
Byte* float_element(Byte* tile, const Layout& l, int64_t column, int lane) {
  return tile + column * l.bytes + lane * (l.bits / 8);
}

}  // namespace

void pack(const WeightRows& rows, std::span<std::byte> packed) {
  const WeightTraits& t = traits(rows.type);
  const Layout l = layout(rows.type);
  const int64_t bytes = tile_bytes(rows.type, rows.columns);
  std::fill(packed.begin(), packed.end(), std::byte{0});
  for (int64_t row = 0; row < rows.rows; ++row) {
    std::byte* tile = packed.data() + row / kTileRows * bytes;
    const auto lane = static_cast<int>(row % kTileRows);
    if (t.is_float()) {
      for (int64_t column = 0; column < rows.columns; ++column) {
        std::byte* at = float_element(tile, l, column, lane);
        const auto i = static_cast<size_t>(row * rows.columns + column);
        if (rows.type == WeightType::kF32)
          store(at, rows.floats[i]);
        else
          store(at, rows.halves[i]);
      }
      continue;
    }
    for (int64_t column = 0; column < rows.columns; column += l.columns)
      pack_record(rows, row, column,
                  RowOfRecord<std::byte>{tile + column / l.columns * l.bytes, lane, t, l});
  }
}

void unpack(const PackedWeight& matrix, int64_t first, int64_t count, WeightRows& rows) {
  const WeightTraits& t = traits(matrix.type);
  const Layout l = layout(matrix.type);
  const int64_t bytes = tile_bytes(matrix.type, matrix.columns);
  rows.resize(matrix.type, count, matrix.columns);
  for (int64_t row = 0; row < count; ++row) {
    const std::byte* tile = matrix.data + (first + row) / kTileRows * bytes;
    const auto lane = static_cast<int>((first + row) % kTileRows);
    if (t.is_float()) {
      for (int64_t column = 0; column < rows.columns; ++column) {
        const std::byte* at = float_element(tile, l, column, lane);
        const auto i = static_cast<size_t>(row * rows.columns + column);
        if (rows.type == WeightType::kF32)
          rows.floats[i] = load<float>(at);
        else
          rows.halves[i] = load<uint16_t>(at);
      }
      continue;
    }
    for (int64_t column = 0; column < rows.columns; column += l.columns)
      unpack_record(RowOfRecord<const std::byte>{tile + column / l.columns * l.bytes, lane, t, l},
                    row, column, rows);
  }
}

void gather_row(const PackedWeight& matrix, int64_t row, float* out) {
  const WeightTraits& t = traits(matrix.type);
  const Layout l = layout(matrix.type);
  const std::byte* tile = matrix.data + row / kTileRows * tile_bytes(matrix.type, matrix.columns);
  const auto lane = static_cast<int>(row % kTileRows);
  if (t.is_float()) {
    for (int64_t column = 0; column < matrix.columns; ++column) {
      const std::byte* at = float_element(tile, l, column, lane);
      out[column] = matrix.type == WeightType::kF32   ? load<float>(at)
                    : matrix.type == WeightType::kF16 ? f16_to_f32(load<uint16_t>(at))
                                                      : bf16_to_f32(load<uint16_t>(at));
    }
    return;
  }
  for (int64_t column = 0; column < matrix.columns; column += kGroup) {
    const RowOfRecord<const std::byte> from{tile + column / l.columns * l.bytes, lane, t, l};
    const auto within = static_cast<int>(column % l.columns);
    uint8_t codes[kGroup];
    read_codes(l.bits, from.codes(within / kGroup), codes);
    for (int k = 0; k < kGroup; ++k) {
      const int sub_block = (within + k) / t.sub_block;
      float scale = read_scale(from, within / t.block);
      if (t.has_sub_scale())
        scale = scale * static_cast<float>(load<int8_t>(from.sub_scale(sub_block)));
      const float product = scale * static_cast<float>(code_value(t, codes[k]));
      if (!t.has_minimum) {
        out[column + k] = product;
        continue;
      }
      float minimum = read_minimum(from, within / t.block);
      if (t.has_sub_scale())
        minimum = minimum * static_cast<float>(load<uint8_t>(from.sub_minimum(sub_block)));
      out[column + k] = product - minimum;
    }
  }
}

}  // namespace gumbel::cpu
