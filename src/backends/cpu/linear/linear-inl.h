// Matrix products with quantized weights (docs/numerics.md, "Matrix products").
//
// Without an include guard, as dot-inl.h: once per namespace GUMBEL_DOT.

#if GUMBEL_VNNI
HWY_BEFORE_NAMESPACE();
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni")
#else
HWY_BEFORE_NAMESPACE();
#endif
namespace gumbel::cpu::HWY_NAMESPACE::GUMBEL_DOT {

/// Whether decoded values need a byte's whole range.
constexpr bool takes_8_bits(WeightType type) {
  return traits(type).element_bits == 8 || traits(type).table == CodeTable::kIQ4NL;
}

#if HWY_TARGET == HWY_SCALAR
constexpr bool kSignedBytes = true;
#endif

/// What is subtracted from a decoded code to make its value.
constexpr int decoded_zero(WeightType type) {
  if (takes_8_bits(type)) return kSignedBytes ? 0 : 128;
  return traits(type).table == CodeTable::kMXFP4 ? 12 : traits(type).zero;
}

/// The largest magnitude of a decoded code.
constexpr int largest_code(WeightType type) {
  if (takes_8_bits(type)) return 128;
  return traits(type).table == CodeTable::kMXFP4 ? 24 : (1 << layout(type).bits) - 1;
}

constexpr ActivationTraits activation_traits(WeightType type) {
  const WeightTraits& t = traits(type);
  return {decoded_zero(type), t.sub_block == 16, t.has_minimum && !t.has_sub_scale(), 8};
}

/// Decoded codes of the 16 codes of a codebook type.
struct alignas(16) CodeTable16 {
  uint8_t codes[16];
};
constexpr CodeTable16 code_table(WeightType type) {
  CodeTable16 table = {};
  for (int i = 0; i < 16; ++i)
    table.codes[i] = static_cast<uint8_t>(code_value(traits(type), static_cast<uint8_t>(i)) +
                                          decoded_zero(type));
  return table;
}

#if HWY_TARGET == HWY_SCALAR

/// The decoded code of row `row` and column `k` of a group.
template <WeightType kType>
HWY_INLINE int decode(const std::byte* codes, int row, int k) {
  constexpr int kBits = layout(kType).bits;
  const int step = k / 4;
  const std::byte* at = codes + 4 * row + k % 4;
  if constexpr (kBits == 8) return static_cast<int>(at[64 * step]) - 128;
  int code = static_cast<int>(at[64 * (step % 4)]) >> (step < 4 ? 0 : 4) & 15;
  if constexpr (kBits == 5) code |= (static_cast<int>(at[256]) >> step & 1) << 4;
  if constexpr (kBits == 6)
    code |= (static_cast<int>(at[256 + 64 * (step / 4)]) >> (2 * (step % 4)) & 3) << 4;
  if constexpr (traits(kType).table != CodeTable::kLinear) {
    static constexpr CodeTable16 kTable = code_table(kType);
    return takes_8_bits(kType) ? static_cast<int8_t>(kTable.codes[code]) : kTable.codes[code];
  }
  return code;
}

/// start + the dot product of columns [begin, end) of a group.
template <int kBegin, int kEnd>
HWY_INLINE int32_t dot(const int (&codes)[kGroup], const std::byte* activations, int32_t start) {
  for (int k = kBegin; k < kEnd; ++k)
    start += codes[k] * static_cast<int>(static_cast<int8_t>(activations[k]));
  return start;
}

#else

/// Decodes the codes of kLanes rows of a group; codes[j] are those of step j.
template <WeightType kType>
HWY_INLINE void decode(const std::byte* from, VU8 (&codes)[kGroupSteps]) {
  const U8 d;
  const hn::Repartition<uint16_t, U8> d16;
  const auto* planes = reinterpret_cast<const uint8_t*>(from);
  constexpr int kBits = layout(kType).bits;
  if constexpr (kBits == 8) {
    GUMBEL_UNROLL
    for (int j = 0; j < kGroupSteps; ++j) {
      codes[j] = hn::LoadU(d, planes + 64 * j);
      if constexpr (kSignedBytes) codes[j] = hn::Xor(codes[j], hn::Set(d, 0x80));
    }
    return;
  }
  const VU8 nibble = hn::Set(d, 15);
  GUMBEL_UNROLL
  for (int p = 0; p < 4; ++p) {
    const VU8 both = hn::LoadU(d, planes + 64 * p);
    codes[p] = hn::And(both, nibble);
    // Bytes have no shift of their own; what 16-bit lanes shift in from the side is masked.
    codes[p + 4] = hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(d16, both))), nibble);
  }
  if constexpr (kBits == 5) {
    const auto plane = hn::BitCast(d16, hn::LoadU(d, planes + 256));
    const VU8 bit = hn::Set(d, 0x10);
    codes[0] = hn::OrAnd(codes[0], hn::BitCast(d, hn::ShiftLeft<4>(plane)), bit);
    codes[1] = hn::OrAnd(codes[1], hn::BitCast(d, hn::ShiftLeft<3>(plane)), bit);
    codes[2] = hn::OrAnd(codes[2], hn::BitCast(d, hn::ShiftLeft<2>(plane)), bit);
    codes[3] = hn::OrAnd(codes[3], hn::BitCast(d, hn::ShiftLeft<1>(plane)), bit);
    codes[4] = hn::OrAnd(codes[4], hn::BitCast(d, plane), bit);
    codes[5] = hn::OrAnd(codes[5], hn::BitCast(d, hn::ShiftRight<1>(plane)), bit);
    codes[6] = hn::OrAnd(codes[6], hn::BitCast(d, hn::ShiftRight<2>(plane)), bit);
    codes[7] = hn::OrAnd(codes[7], hn::BitCast(d, hn::ShiftRight<3>(plane)), bit);
  }
  if constexpr (kBits == 6) {
    const VU8 bits = hn::Set(d, 0x30);
    GUMBEL_UNROLL
    for (int i = 0; i < 2; ++i) {
      const auto plane = hn::BitCast(d16, hn::LoadU(d, planes + 256 + 64 * i));
      VU8* out = codes + 4 * i;
      out[0] = hn::OrAnd(out[0], hn::BitCast(d, hn::ShiftLeft<4>(plane)), bits);
      out[1] = hn::OrAnd(out[1], hn::BitCast(d, hn::ShiftLeft<2>(plane)), bits);
      out[2] = hn::OrAnd(out[2], hn::BitCast(d, plane), bits);
      out[3] = hn::OrAnd(out[3], hn::BitCast(d, hn::ShiftRight<2>(plane)), bits);
    }
  }
  if constexpr (traits(kType).table != CodeTable::kLinear) {
    static constexpr CodeTable16 kTable = code_table(kType);
    const VU8 table = hn::LoadDup128(d, kTable.codes);
    GUMBEL_UNROLL
    for (int j = 0; j < kGroupSteps; ++j) codes[j] = hn::TableLookupBytes(table, codes[j]);
  }
}

/// kLanes bytes as float32.
template <typename T>
HWY_INLINE VF32 load_bytes(const std::byte* from) {
  const hn::Rebind<T, F32> d;
  return hn::ConvertTo(F32(), hn::PromoteTo(I32(), hn::LoadU(d, reinterpret_cast<const T*>(from))));
}

#endif

template <WeightType kType>
HWY_INLINE VF32 load_scale(const std::byte* from) {
  if constexpr (traits(kType).f32_scale)
    return hn::LoadU(F32(), reinterpret_cast<const float*>(from));
  return load_f16(reinterpret_cast<const uint16_t*>(from));
}

HWY_INLINE VF32 broadcast_f32(const std::byte* from) {
  float value;
  std::memcpy(&value, from, 4);
  return hn::Set(F32(), value);
}

HWY_INLINE VI32 broadcast_i32(const std::byte* from) {
  int32_t value;
  std::memcpy(&value, from, 4);
  return hn::Set(I32(), value);
}

#if HWY_TARGET != HWY_SCALAR

/// The scales and minima of kLanes rows for one group.
template <WeightType kType>
struct GroupScales {
  // Written out because an implicit one would not be compiled for the instruction set.
  HWY_INLINE GroupScales() {}
  VF32 scale, minimum, sub_scale[2], sub_minimum[2];
};

/// Those of group g of a record, for the rows from `lane` on.
template <WeightType kType>
HWY_INLINE GroupScales<kType> load_scales(const std::byte* record, int g, int lane) {
  constexpr WeightTraits kTraits = traits(kType);
  constexpr Layout kLayout = layout(kType);
  constexpr int kSubBlocks = kTraits.sub_block == 16 ? 2 : 1;  // of a group
  GroupScales<kType> scales;
  const int at = (kTraits.has_sub_scale() ? 0 : g) * kTileRows + lane;
  scales.scale = load_scale<kType>(record + (kTraits.f32_scale ? 4 : 2) * at);
  if constexpr (kTraits.has_minimum)
    scales.minimum = load_f16(reinterpret_cast<const uint16_t*>(record + kLayout.minimum + 2 * at));
  if constexpr (kTraits.has_sub_scale()) {
    GUMBEL_UNROLL
    for (int i = 0; i < kSubBlocks; ++i) {
      const int sub = (g * kSubBlocks + i) * kTileRows + lane;
      scales.sub_scale[i] = load_bytes<int8_t>(record + kLayout.sub_scale + sub);
      if constexpr (kTraits.has_minimum)
        scales.sub_minimum[i] = load_bytes<uint8_t>(record + kLayout.sub_minimum + sub);
    }
  }
  return scales;
}

/// acc and the terms of a group on top of it, for one row of activations whose dot products with
/// the group, or with its halves, are given.
template <WeightType kType, int kRows>
HWY_INLINE VF32 add_terms(VI32 dot0, VI32 dot1, const GroupScales<kType>& scales,
                          const std::byte* group, int row, VF32 acc) {
  constexpr WeightTraits kTraits = traits(kType);
  constexpr ActivationLayout kActivations{kRows};
  constexpr bool kHalves = kTraits.sub_block == 16;
  const F32 d;
  // Dot products times sub-scales are below 2^24 for the K types: 32 * 128 * 127 * 32 of Q6_K is
  // the most, so that float32 has them exactly. IQ4_XS, with values up to 127, multiplies integers.
  VF32 product;
  if constexpr (kType == WeightType::kIQ4_XS) {
    product = hn::ConvertTo(d, hn::Mul(dot0, hn::ConvertTo(I32(), scales.sub_scale[0])));
  } else {
    product = hn::ConvertTo(d, dot0);
    if constexpr (kTraits.has_sub_scale()) product = hn::Mul(product, scales.sub_scale[0]);
    if constexpr (kHalves)
      product = fused_multiply_add(hn::ConvertTo(d, dot1), scales.sub_scale[1], product);
  }
  const VF32 activation_scale = broadcast_f32(group + kActivations.scale(row));
  acc = fused_multiply_add(product, hn::Mul(scales.scale, activation_scale), acc);
  if constexpr (kTraits.has_minimum) {
    const VF32 sum = broadcast_f32(group + kActivations.sum(0, row));
    if constexpr (!kTraits.has_sub_scale()) {
      acc = negated_fused_multiply_add(sum, scales.minimum, acc);
    } else {
      // Below 32 * 127 * 255 < 2^24: exact.
      VF32 min_dot = hn::Mul(scales.sub_minimum[0], sum);
      if constexpr (kHalves)
        min_dot = fused_multiply_add(scales.sub_minimum[1],
                                     broadcast_f32(group + kActivations.sum(1, row)), min_dot);
      acc = negated_fused_multiply_add(min_dot, hn::Mul(scales.minimum, activation_scale), acc);
    }
  }
  return acc;
}

/// add_terms of the dot products of decoded codes and one row of activations.
template <WeightType kType, int kRows>
HWY_INLINE VF32 add_group(const VU8 (&codes)[kGroupSteps], const GroupScales<kType>& scales,
                          const std::byte* group, int row, VF32 acc) {
  constexpr ActivationLayout kActivations{kRows};
  constexpr int kMaxCode = largest_code(kType);
  const std::byte* activations = group + kActivations.codes(row);
  const auto start = [&](int half) HWY_ATTR {
    return decoded_zero(kType) == 0 ? hn::Zero(I32())
                                    : broadcast_i32(group + kActivations.correction(half, row));
  };
  if constexpr (traits(kType).sub_block == 16)
    return add_terms<kType, kRows>(dot<0, 4, kMaxCode>(codes, activations, start(0)),
                                   dot<4, 8, kMaxCode>(codes, activations, start(1)), scales, group,
                                   row, acc);
  const VI32 total = dot<0, 8, kMaxCode>(codes, activations, start(0));
  return add_terms<kType, kRows>(total, total, scales, group, row, acc);
}

/// How far ahead of the arithmetic weights are fetched into the second-level cache. The product of
/// one token waits for memory alone, and the hardware's own prefetcher, which stops at the ends of
/// pages, leaves a third of the bandwidth unused.
constexpr int kPrefetchBytes = 4096;

/// Asks for the cache lines of `kBytes` bytes, kPrefetchBytes from here. The last ones may lie past
/// the matrix, which is no fault.
template <int kBytes>
HWY_INLINE void prefetch(const std::byte* from) {
  GUMBEL_UNROLL
  for (int i = 0; i < kBytes; i += 64) __builtin_prefetch(from + kPrefetchBytes + i, 0, 2);
}

/// acc[m] = the products of kLanes rows of a tile, from row `lane` on, with the rows m of a block
/// of activations.
template <WeightType kType, int kRows>
HWY_INLINE void multiply_block(const std::byte* tile, int lane, const std::byte* activations,
                               int64_t groups, VF32 (&acc)[kRows]) {
  constexpr Layout kLayout = layout(kType);
  constexpr int kShare = kLayout.bytes / kLayout.groups();
  GUMBEL_UNROLL
  for (int m = 0; m < kRows; ++m) acc[m] = hn::Zero(F32());
  for (const std::byte* record = tile; groups > 0; record += kLayout.bytes) {
    const int count = groups < kLayout.groups() ? static_cast<int>(groups) : kLayout.groups();
    for (int g = 0; g < count; ++g) {
      if constexpr (kRows <= 4) prefetch<kShare>(record + g * kShare);
      VU8 codes[kGroupSteps];
      decode<kType>(record + kLayout.codes + g * kLayout.code_bytes + 4 * lane, codes);
      const GroupScales<kType> scales = load_scales<kType>(record, g, lane);
      GUMBEL_UNROLL
      for (int m = 0; m < kRows; ++m)
        acc[m] = add_group<kType, kRows>(codes, scales, activations, m, acc[m]);
      activations += ActivationLayout{kRows}.bytes();
    }
    groups -= count;
  }
}

#else

/// The same, one row of the tile.
template <WeightType kType, int kRows>
HWY_INLINE void multiply_block(const std::byte* tile, int lane, const std::byte* activations,
                               int64_t groups, VF32 (&acc)[kRows]) {
  constexpr WeightTraits kTraits = traits(kType);
  constexpr Layout kLayout = layout(kType);
  constexpr ActivationLayout kActivations{kRows};
  for (int m = 0; m < kRows; ++m) acc[m] = hn::Zero(F32());
  for (int64_t i = 0; i < groups; ++i, activations += kActivations.bytes()) {
    const std::byte* record = tile + i / kLayout.groups() * kLayout.bytes;
    const auto g = static_cast<int>(i % kLayout.groups());
    const int block = kTraits.has_sub_scale() ? 0 : g;
    int codes[kGroup];
    for (int k = 0; k < kGroup; ++k)
      codes[k] = decode<kType>(record + kLayout.codes + g * kLayout.code_bytes, lane, k);
    const auto at = [&](int part, int index, int size) {
      return record + part + (index * kTileRows + lane) * size;
    };
    const VF32 scale = load_scale<kType>(at(0, block, kTraits.f32_scale ? 4 : 2));
    const VF32 minimum =
        kTraits.has_minimum
            ? load_f16(reinterpret_cast<const uint16_t*>(at(kLayout.minimum, block, 2)))
            : hn::Zero(F32());
    constexpr bool kHalves = kTraits.sub_block == 16;
    const auto sub_scale = [&](int half) {
      return !kTraits.has_sub_scale() ? 1
                                      : static_cast<int>(static_cast<int8_t>(*at(
                                            kLayout.sub_scale, g * (kHalves ? 2 : 1) + half, 1)));
    };
    const auto sub_minimum = [&](int half) {
      return static_cast<float>(
          static_cast<int>(*at(kLayout.sub_minimum, g * (kHalves ? 2 : 1) + half, 1)));
    };
    for (int m = 0; m < kRows; ++m) {
      const std::byte* a = activations + kActivations.codes(m);
      const auto correction = [&](int half) {
        return hn::GetLane(broadcast_i32(activations + kActivations.correction(half, m)));
      };
      const auto sum = [&](int half) {
        return hn::GetLane(broadcast_f32(activations + kActivations.sum(half, m)));
      };
      const int32_t total = kHalves ? dot<0, 16>(codes, a, correction(0)) * sub_scale(0) +
                                          dot<16, 32>(codes, a, correction(1)) * sub_scale(1)
                                    : dot<0, 32>(codes, a, correction(0)) * sub_scale(0);
      const VF32 activation_scale = broadcast_f32(activations + kActivations.scale(m));
      acc[m] = fused_multiply_add(VF32(static_cast<float>(total)), hn::Mul(scale, activation_scale),
                                  acc[m]);
      if constexpr (kTraits.has_minimum && !kTraits.has_sub_scale())
        acc[m] = negated_fused_multiply_add(VF32(sum(0)), minimum, acc[m]);
      if constexpr (kTraits.has_minimum && kTraits.has_sub_scale()) {
        // Whole numbers below 2^24: exact.
        float min_dot = sub_minimum(0) * sum(0);
        if (kHalves) min_dot += sub_minimum(1) * sum(1);
        acc[m] =
            negated_fused_multiply_add(VF32(min_dot), hn::Mul(minimum, activation_scale), acc[m]);
      }
    }
  }
}

#endif

/// Stores the lanes that are rows of the matrix; `room` of them are.
HWY_INLINE void store_lanes(VF32 v, int64_t room, float* out) {
  if (room >= kLanes) {
    hn::StoreU(v, F32(), out);
    return;
  }
  float lanes[16];
  hn::StoreU(v, F32(), lanes);
  for (int64_t i = 0; i < room; ++i) out[i] = lanes[i];
}

template <WeightType kType, int kRows>
void multiply_tiles(const LinearTask& task, int64_t first, int64_t last) {
  const int64_t groups = task.columns / kGroup;
  const int64_t block_bytes = groups * ActivationLayout{kRows}.bytes();
  for (int64_t t = first; t < last; ++t) {
    const std::byte* tile = task.weights + t * task.tile_bytes;
    for (int64_t row = 0; row < task.rows; row += kRows) {
      const std::byte* activations = task.activations + row / kRows * block_bytes;
      for (int lane = 0; lane < kTileRows; lane += kLanes) {
        VF32 acc[kRows];
        multiply_block<kType, kRows>(tile, lane, activations, groups, acc);
        const int64_t output = t * kTileRows + lane;
        for (int m = 0; m < kRows && row + m < task.rows; ++m)
          store_lanes(acc[m], task.outputs - output, task.out + (row + m) * task.outputs + output);
      }
    }
  }
}

/// LinearKernels::multiply.
template <WeightType kType>
void multiply(const LinearTask& task, int block, int64_t first, int64_t last) {
  switch (block) {
    case 1:
      return multiply_tiles<kType, 1>(task, first, last);
    case 2:
      return multiply_tiles<kType, 2>(task, first, last);
    case 4:
      return multiply_tiles<kType, 4>(task, first, last);
    default:
      return multiply_tiles<kType, 8>(task, first, last);
  }
}

inline LinearKernels quantized_kernels(WeightType type) {
  switch (type) {
#define GUMBEL_CASE(type) \
  case WeightType::type:  \
    return {activation_traits(WeightType::type), quantize_row, multiply<WeightType::type>};
    GUMBEL_QUANTIZED_TYPES(GUMBEL_CASE)
#undef GUMBEL_CASE
    default:
      return {};
  }
}

}  // namespace gumbel::cpu::HWY_NAMESPACE::GUMBEL_DOT
#if GUMBEL_VNNI
HWY_POP_ATTRIBUTES
#endif
HWY_AFTER_NAMESPACE();
