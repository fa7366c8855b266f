#include "export/gguf/blocks.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

#include "base/float16.h"
#include "export/byte_cursor.h"

namespace gumbel {
namespace {

/// A type's number in GGUF files and the bytes of one of its blocks.
struct GgmlType {
  uint32_t number;
  int block_bytes;
};

/// By WeightType. The sizes add up the parts that the unpack functions below read.
constexpr std::array<GgmlType, kWeightTypeCount> kGgmlTypes = {{
    {0, 4},     // f32
    {1, 2},     // f16
    {30, 2},    // bf16
    {2, 18},    // q4_0: scale 2, codes 16
    {3, 20},    // q4_1: scale 2, minimum 2, codes 16
    {6, 22},    // q5_0: scale 2, high bits 4, codes 16
    {7, 24},    // q5_1: scale 2, minimum 2, high bits 4, codes 16
    {8, 34},    // q8_0: scale 2, codes 32
    {10, 84},   // q2_k: sub-scales 16, codes 64, scale 2, minimum 2
    {11, 110},  // q3_k: high bits 32, codes 64, sub-scales 12, scale 2
    {12, 144},  // q4_k: scale 2, minimum 2, sub-scales 12, codes 128
    {13, 176},  // q5_k: scale 2, minimum 2, sub-scales 12, high bits 32, codes 128
    {14, 210},  // q6_k: low bits 128, high bits 64, sub-scales 16, scale 2
    {20, 18},   // iq4_nl: scale 2, codes 16
    {23, 136},  // iq4_xs: scale 2, sub-scale high bits 2, low bits 4, codes 128
    {39, 17},   // mxfp4: exponent 1, codes 16
}};

/// Names of all that ggml numbers, for messages about those that Gumbel lacks.
constexpr std::string_view kGgmlNames[] = {
    "f32",   "f16",        "q4_0",       "q4_1",       "q4_2",     "q4_3",     "q5_0",
    "q5_1",  "q8_0",       "q8_1",       "q2_k",       "q3_k",     "q4_k",     "q5_k",
    "q6_k",  "q8_k",       "iq2_xxs",    "iq2_xs",     "iq3_xxs",  "iq1_s",    "iq4_nl",
    "iq3_s", "iq2_s",      "iq4_xs",     "i8",         "i16",      "i32",      "i64",
    "f64",   "iq1_m",      "bf16",       "q4_0_4_4",   "q4_0_4_8", "q4_0_8_8", "tq1_0",
    "tq2_0", "iq4_nl_4_4", "iq4_nl_4_8", "iq4_nl_8_8", "mxfp4"};

uint8_t byte(const std::byte* data, int i) { return static_cast<uint8_t>(data[i]); }
float half(const std::byte* data) { return f16_to_f32(load<uint16_t>(data)); }

/// Where the parts of one block go; the pointers of parts that the type lacks are not used.
struct Block {
  uint8_t* codes;
  float* scale;
  int8_t* sub_scale;
  float* minimum;
  uint8_t* sub_minimum;
};

/// 32 four-bit codes: element k in the low half of byte k, element k + 16 in the high half.
void unpack_nibbles(const std::byte* data, uint8_t* codes) {
  for (int k = 0; k < 16; ++k) {
    codes[k] = byte(data, k) & 15;
    codes[k + 16] = byte(data, k) >> 4;
  }
}

void unpack_q4_0(const std::byte* data, const Block& out) {
  *out.scale = half(data);
  unpack_nibbles(data + 2, out.codes);
}

void unpack_q4_1(const std::byte* data, const Block& out) {
  *out.scale = half(data);
  *out.minimum = -half(data + 2);  // ggml adds its minimum
  unpack_nibbles(data + 4, out.codes);
}

/// Adds bit k of `high` as bit 4 of code k.
void add_fifth_bits(uint32_t high, uint8_t* codes) {
  for (int k = 0; k < 32; ++k) codes[k] = static_cast<uint8_t>(codes[k] | ((high >> k) & 1) << 4);
}

void unpack_q5_0(const std::byte* data, const Block& out) {
  *out.scale = half(data);
  unpack_nibbles(data + 6, out.codes);
  add_fifth_bits(load<uint32_t>(data + 2), out.codes);
}

void unpack_q5_1(const std::byte* data, const Block& out) {
  *out.scale = half(data);
  *out.minimum = -half(data + 2);
  unpack_nibbles(data + 8, out.codes);
  add_fifth_bits(load<uint32_t>(data + 4), out.codes);
}

void unpack_q8_0(const std::byte* data, const Block& out) {
  *out.scale = half(data);
  // Two's complement to an offset of 128 flips the top bit.
  for (int k = 0; k < 32; ++k) out.codes[k] = byte(data, 2 + k) ^ 0x80;
}

void unpack_q2_k(const std::byte* data, const Block& out) {
  for (int s = 0; s < 16; ++s) {
    out.sub_scale[s] = static_cast<int8_t>(byte(data, s) & 15);
    out.sub_minimum[s] = byte(data, s) >> 4;
  }
  // Element k: half k / 128, bit pair (k % 128) / 32, byte k % 32 of the half.
  for (int k = 0; k < 256; ++k)
    out.codes[k] = (byte(data + 16, k / 128 * 32 + k % 32) >> (k % 128 / 32 * 2)) & 3;
  *out.scale = half(data + 80);
  *out.minimum = half(data + 82);
}

void unpack_q3_k(const std::byte* data, const Block& out) {
  // Low bits as in q2_k; bit k / 32 of high byte k % 32 is bit 2. ggml subtracts 4 where that bit
  // is clear, which is code - 4 with the bit taken in.
  for (int k = 0; k < 256; ++k) {
    const int low = (byte(data + 32, k / 128 * 32 + k % 32) >> (k % 128 / 32 * 2)) & 3;
    const int high = (byte(data, k % 32) >> (k / 32)) & 1;
    out.codes[k] = static_cast<uint8_t>(low | high << 2);
  }
  // Sub-scale s, 6 bits: the low four in half-byte s / 8 of byte s % 8, the high two in bit pair
  // s / 4 of byte 8 + s % 4.
  const std::byte* scales = data + 96;
  for (int s = 0; s < 16; ++s) {
    const int low = (byte(scales, s % 8) >> (s / 8 * 4)) & 15;
    const int high = (byte(scales, 8 + s % 4) >> (s / 4 * 2)) & 3;
    out.sub_scale[s] = static_cast<int8_t>((low | high << 4) - 32);
  }
  *out.scale = half(data + 108);
}

/// The eight 6-bit sub-scales and sub-minima of q4_k and q5_k, in 12 bytes: the first four of each
/// are the low six bits of bytes 0..3 and 4..7; the last four have their low four bits in the
/// halves of bytes 8..11 and their high two bits on top of bytes 0..3 and 4..7.
void unpack_k_scales(const std::byte* data, const Block& out) {
  for (int s = 0; s < 4; ++s) {
    out.sub_scale[s] = static_cast<int8_t>(byte(data, s) & 63);
    out.sub_minimum[s] = byte(data, s + 4) & 63;
    out.sub_scale[s + 4] =
        static_cast<int8_t>((byte(data, s + 8) & 15) | (byte(data, s) >> 6) << 4);
    out.sub_minimum[s + 4] =
        static_cast<uint8_t>((byte(data, s + 8) >> 4) | (byte(data, s + 4) >> 6) << 4);
  }
}

/// 256 four-bit codes in groups of 64: the low halves of 32 bytes, then their high halves.
void unpack_nibbles_by_64(const std::byte* data, uint8_t* codes) {
  for (int group = 0; group < 4; ++group)
    for (int k = 0; k < 32; ++k) {
      codes[group * 64 + k] = byte(data, group * 32 + k) & 15;
      codes[group * 64 + 32 + k] = byte(data, group * 32 + k) >> 4;
    }
}

void unpack_q4_k(const std::byte* data, const Block& out) {
  *out.scale = half(data);
  *out.minimum = half(data + 2);
  unpack_k_scales(data + 4, out);
  unpack_nibbles_by_64(data + 16, out.codes);
}

void unpack_q5_k(const std::byte* data, const Block& out) {
  *out.scale = half(data);
  *out.minimum = half(data + 2);
  unpack_k_scales(data + 4, out);
  unpack_nibbles_by_64(data + 48, out.codes);
  // Bit k / 32 of high byte k % 32 is bit 4 of code k.
  for (int k = 0; k < 256; ++k)
    out.codes[k] =
        static_cast<uint8_t>(out.codes[k] | ((byte(data + 16, k % 32) >> (k / 32)) & 1) << 4);
}

void unpack_q6_k(const std::byte* data, const Block& out) {
  // In each half of 128: element k has its low four bits in half-byte k / 64 of low byte k % 64 and
  // its high two in bit pair k / 32 of high byte k % 32.
  for (int k = 0; k < 256; ++k) {
    const int in_half = k % 128;
    const int low = (byte(data, k / 128 * 64 + in_half % 64) >> (in_half / 64 * 4)) & 15;
    const int high = (byte(data + 128, k / 128 * 32 + in_half % 32) >> (in_half / 32 * 2)) & 3;
    out.codes[k] = static_cast<uint8_t>(low | high << 4);
  }
  std::memcpy(out.sub_scale, data + 192, 16);
  *out.scale = half(data + 208);
}

void unpack_iq4_xs(const std::byte* data, const Block& out) {
  *out.scale = half(data);
  const auto high = load<uint16_t>(data + 2);
  for (int s = 0; s < 8; ++s) {
    const int low = (byte(data + 4, s / 2) >> (s % 2 * 4)) & 15;
    out.sub_scale[s] = static_cast<int8_t>((low | ((high >> (2 * s)) & 3) << 4) - 32);
    unpack_nibbles(data + 8 + std::ptrdiff_t{16} * s, out.codes + std::ptrdiff_t{32} * s);
  }
}

void unpack_mxfp4(const std::byte* data, const Block& out) {
  // The scale is half of 2^(exponent - 127), as the values are twice the E2M1 ones. Exponents 0 and
  // 1 give the subnormals 2^-128 and 2^-127.
  const uint32_t exponent = byte(data, 0);
  const uint32_t bits = exponent < 2 ? 0x00200000u << exponent : (exponent - 1) << 23;
  *out.scale = std::bit_cast<float>(bits);
  unpack_nibbles(data + 1, out.codes);
}

void unpack_block(WeightType type, const std::byte* data, const Block& out) {
  switch (type) {
    case WeightType::kF32:
    case WeightType::kF16:
    case WeightType::kBF16:
      return;
    case WeightType::kQ4_0:
    case WeightType::kIQ4_NL:
      return unpack_q4_0(data, out);
    case WeightType::kQ4_1:
      return unpack_q4_1(data, out);
    case WeightType::kQ5_0:
      return unpack_q5_0(data, out);
    case WeightType::kQ5_1:
      return unpack_q5_1(data, out);
    case WeightType::kQ8_0:
      return unpack_q8_0(data, out);
    case WeightType::kQ2_K:
      return unpack_q2_k(data, out);
    case WeightType::kQ3_K:
      return unpack_q3_k(data, out);
    case WeightType::kQ4_K:
      return unpack_q4_k(data, out);
    case WeightType::kQ5_K:
      return unpack_q5_k(data, out);
    case WeightType::kQ6_K:
      return unpack_q6_k(data, out);
    case WeightType::kIQ4_XS:
      return unpack_iq4_xs(data, out);
    case WeightType::kMXFP4:
      return unpack_mxfp4(data, out);
  }
}

template <typename T>
T* at(std::vector<T>& part, int64_t index) {
  return part.empty() ? nullptr : part.data() + index;
}

}  // namespace

std::optional<WeightType> gguf_weight_type(uint32_t ggml_type) {
  for (size_t i = 0; i < kGgmlTypes.size(); ++i)
    if (kGgmlTypes[i].number == ggml_type) return static_cast<WeightType>(i);
  return std::nullopt;
}

std::string gguf_type_name(uint32_t ggml_type) {
  if (ggml_type < std::size(kGgmlNames)) return std::string(kGgmlNames[ggml_type]);
  return fmt::format("type {}", ggml_type);
}

std::string gguf_known_types() {
  std::string names;
  for (const WeightTraits& t : kWeightTraits) {
    if (!names.empty()) names += ", ";
    names += t.name;
  }
  return names;
}

int64_t gguf_block_bytes(WeightType type) {
  return kGgmlTypes[static_cast<size_t>(type)].block_bytes;
}

void unpack_gguf_row(std::span<const std::byte> data, int64_t row, WeightRows& out) {
  const int64_t first = row * out.columns;
  if (out.type == WeightType::kF32) {
    std::memcpy(out.floats.data() + first, data.data(), data.size());
    return;
  }
  if (out.type == WeightType::kF16 || out.type == WeightType::kBF16) {
    std::memcpy(out.halves.data() + first, data.data(), data.size());
    return;
  }
  const WeightTraits& t = traits(out.type);
  const int64_t block_bytes = gguf_block_bytes(out.type);
  for (int64_t b = 0; b < out.columns / t.block; ++b) {
    const int64_t block = first / t.block + b;
    const int64_t sub_block = block * (t.block / t.sub_block);
    unpack_block(
        out.type, data.data() + b * block_bytes,
        {at(out.codes, block * t.block), at(out.scale, block), at(out.sub_scale, sub_block),
         at(out.minimum, block), at(out.sub_minimum, sub_block)});
  }
}

}  // namespace gumbel
