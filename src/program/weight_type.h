// The encodings in which a program keeps its weights.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace gumbel {

/// How the elements of a weight tensor are encoded. The quantized ones hold exactly what the GGUF
/// types of the same names hold (ggml's block formats), in whatever arrangement a backend packs.
enum class WeightType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ8_0,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
  kMXFP4,
};
inline constexpr int kWeightTypeCount = 16;

/// How a stored code maps to the integer that the scale multiplies.
enum class CodeTable : uint8_t {
  kLinear,  ///< code - zero
  kIQ4NL,   ///< kIQ4NLValues[code]
  kMXFP4,   ///< kMXFP4Values[code]
};

/// ggml's non-linear 4-bit values (iq4_nl).
inline constexpr std::array<int8_t, 16> kIQ4NLValues = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                        1,    13,   25,  38,  53,  69,  89,  113};
/// Twice the FP4 E2M1 values of OCP MX; the scale is halved to make up for it.
inline constexpr std::array<int8_t, 16> kMXFP4Values = {0, 1,  2,  3,  4,  6,  8,  12,
                                                        0, -1, -2, -3, -4, -6, -8, -12};

/// What the elements of a type are made of. A quantized element in column k of a row is
///
///     (scale[k / block] * sub_scale[k / sub_block]) * value(code[k])
///         - (minimum[k / block] * sub_minimum[k / sub_block])
///
/// in float32, each operation rounded; without sub-scales their factor is absent, and without a
/// minimum the subtraction is. Every product of scale and sub_scale, and of that and a value, is
/// exact: at most 11 + 7 + 5 significand bits (Q6_K).
struct WeightTraits {
  std::string_view name;
  int element_bits;  ///< bits of one float, or of one code
  int block;         ///< columns that share a scale; 1 for float types
  int sub_block;     ///< columns that share a sub-scale; block where there are none
  CodeTable table;   ///< quantized types only
  int zero;          ///< subtracted from a linear code
  bool has_minimum;  ///< whether there is a minimum to subtract
  bool f32_scale;    ///< the scale needs float32; otherwise scale and minimum are float16 values

  constexpr bool is_float() const { return block == 1; }
  constexpr bool has_sub_scale() const { return sub_block < block; }
};

inline constexpr std::array<WeightTraits, kWeightTypeCount> kWeightTraits = {{
    {"f32", 32, 1, 1, CodeTable::kLinear, 0, false, true},
    {"f16", 16, 1, 1, CodeTable::kLinear, 0, false, true},
    {"bf16", 16, 1, 1, CodeTable::kLinear, 0, false, true},
    {"q4_0", 4, 32, 32, CodeTable::kLinear, 8, false, false},
    {"q4_1", 4, 32, 32, CodeTable::kLinear, 0, true, false},
    {"q5_0", 5, 32, 32, CodeTable::kLinear, 16, false, false},
    {"q5_1", 5, 32, 32, CodeTable::kLinear, 0, true, false},
    {"q8_0", 8, 32, 32, CodeTable::kLinear, 128, false, false},
    {"q2_k", 2, 256, 16, CodeTable::kLinear, 0, true, false},
    {"q3_k", 3, 256, 16, CodeTable::kLinear, 4, false, false},
    {"q4_k", 4, 256, 32, CodeTable::kLinear, 0, true, false},
    {"q5_k", 5, 256, 32, CodeTable::kLinear, 0, true, false},
    {"q6_k", 6, 256, 16, CodeTable::kLinear, 32, false, false},
    {"iq4_nl", 4, 32, 32, CodeTable::kIQ4NL, 0, false, false},
    {"iq4_xs", 4, 256, 32, CodeTable::kIQ4NL, 0, false, false},
    {"mxfp4", 4, 32, 32, CodeTable::kMXFP4, 0, false, true},
}};

constexpr const WeightTraits& traits(WeightType type) {
  return kWeightTraits[static_cast<size_t>(type)];
}

/// The type of that name ("q4_k"), or nothing.
constexpr std::optional<WeightType> weight_type(std::string_view name) {
  for (int i = 0; i < kWeightTypeCount; ++i)
    if (kWeightTraits[static_cast<size_t>(i)].name == name) return static_cast<WeightType>(i);
  return std::nullopt;
}

/// The integer that `code` of a quantized type stands for.
constexpr int code_value(const WeightTraits& type, uint8_t code) {
  switch (type.table) {
    case CodeTable::kIQ4NL:
      return kIQ4NLValues[code & 15];
    case CodeTable::kMXFP4:
      return kMXFP4Values[code & 15];
    case CodeTable::kLinear:
      break;
  }
  return code - type.zero;
}

}  // namespace gumbel
