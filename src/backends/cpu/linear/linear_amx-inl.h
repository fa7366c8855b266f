// Matrix products of 16 rows of activations and more with AMX's tiles (Intel 64 manual, volume 1,
// "Programming with Intel AMX"). Included once, for AVX-512, after the namespace `vnni`.
//
// An instruction multiplies a tile of activations, 16 rows of 32 codes, by one of weights, 8 steps
// of 16 rows of the matrix by 4 columns, which is how packed codes lie once decoded, and gives the
// 16 x 16 dot products of a group.

HWY_BEFORE_NAMESPACE();
HWY_PUSH_ATTRIBUTES(HWY_TARGET_STR ",avx512vnni,amx-tile,amx-int8")
namespace gumbel::cpu::HWY_NAMESPACE::amx {

/// Rows of activations, and rows of the matrix, of a product of tiles.
constexpr int kBlock = 16;

/// Shapes of the tiles, as ldtilecfg reads them.
struct alignas(64) TileShapes {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

// Tiles by number, which intrinsics take as literals: 0 and 1 are dot products, of a group or of
// its halves; 2 and 4 activations, 3 and 5 weights.
template <bool kHalves>
constexpr TileShapes tile_shapes() {
  TileShapes shapes;
  for (int product : {0, 1}) {
    shapes.rows[product] = kBlock;
    shapes.row_bytes[product] = kTileRows * 4;
  }
  for (int activations : {2, 4}) {
    shapes.rows[activations] = kBlock;
    shapes.row_bytes[activations] = kHalves ? kGroup / 2 : kGroup;
  }
  for (int weights : {3, 5}) {
    shapes.rows[weights] = kHalves ? kGroupSteps / 2 : kGroupSteps;
    shapes.row_bytes[weights] = kTileRows * 4;
  }
  return shapes;
}

/// Groups of weights that are decoded ahead, 8 KiB of codes: with their scales and the activations
/// of a block they fit the first-level cache.
constexpr int kGroupsAhead = 16;
constexpr int kGroupBytes = kGroup * kTileRows;

/// Rows that a call takes at a time; their sums are kept between stretches of kGroupsAhead groups.
constexpr int kMostRows = 128;

/// Decodes a group to values, code - zero, as signed bytes.
template <WeightType kType>
HWY_INLINE void decode_values(const std::byte* from, std::byte* values) {
  const vnni::U8 d;
  vnni::VU8 codes[kGroupSteps];
  vnni::decode<kType>(from, codes);
  GUMBEL_UNROLL
  for (int j = 0; j < kGroupSteps; ++j)
    hn::Store(hn::Sub(codes[j], hn::Set(d, static_cast<uint8_t>(vnni::decoded_zero(kType)))), d,
              reinterpret_cast<uint8_t*>(values) + 64 * j);
}

/// Dot products of a group, or of its halves, with a block of activations: out [2][16][16].
template <bool kHalves>
HWY_INLINE void multiply_group(const std::byte* values, const std::byte* activations,
                               int32_t* out) {
  // The intrinsics do not tell the compiler that they read and write memory; the fences do.
  std::atomic_signal_fence(std::memory_order_seq_cst);
  _tile_zero(0);
  _tile_loadd(2, activations, kGroup);
  _tile_loadd(3, values, 64);
  _tile_dpbssd(0, 2, 3);
  _tile_stored(0, out, 64);
  if constexpr (kHalves) {
    _tile_zero(1);
    _tile_loadd(4, activations + kGroup / 2, kGroup);
    _tile_loadd(5, values + kGroupBytes / 2, 64);
    _tile_dpbssd(1, 4, 5);
    _tile_stored(1, out + kBlock * kTileRows, 64);
  }
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

/// One tile of the matrix times all rows, at most kMostRows.
template <WeightType kType>
HWY_INLINE void multiply_tile(const LinearTask& task, int64_t t) {
  constexpr Layout kLayout = layout(kType);
  constexpr bool kHalves = traits(kType).sub_block == 16;
  constexpr ActivationLayout kActivations{kBlock};
  const F32 d;
  const I32 di;
  const int64_t groups = task.columns / kGroup;
  const std::byte* tile = task.weights + t * task.tile_bytes;
  alignas(64) std::byte values[kGroupsAhead * kGroupBytes];
  alignas(64) int32_t dots[2][2 * kBlock * kTileRows];
  alignas(64) float sums[kMostRows * kTileRows];
  vnni::GroupScales<kType> scales[kGroupsAhead];
  for (int64_t first = 0; first < groups; first += kGroupsAhead) {
    const auto count = static_cast<int>(std::min<int64_t>(groups - first, kGroupsAhead));
    for (int i = 0; i < count; ++i) {
      const int64_t group = first + i;
      const std::byte* record = tile + group / kLayout.groups() * kLayout.bytes;
      const auto g = static_cast<int>(group % kLayout.groups());
      decode_values<kType>(record + kLayout.codes + g * kLayout.code_bytes,
                           values + i * kGroupBytes);
      scales[i] = vnni::load_scales<kType>(record, g, 0);
    }
    for (int64_t row = 0; row < task.rows; row += kBlock) {
      const std::byte* activations =
          task.activations + (row / kBlock * groups + first) * kActivations.bytes();
      float* sum = sums + row * kTileRows;
      VF32 acc[kBlock];
      GUMBEL_UNROLL
      for (int m = 0; m < kBlock; ++m)
        acc[m] = first == 0 ? hn::Zero(d) : hn::Load(d, sum + m * kTileRows);
      for (int i = 0; i < count; ++i, activations += kActivations.bytes()) {
        int32_t* out = dots[i % 2];
        multiply_group<kHalves>(values + i * kGroupBytes, activations, out);
        GUMBEL_UNROLL
        for (int m = 0; m < kBlock; ++m)
          acc[m] = vnni::add_terms<kType, kBlock>(
              hn::Load(di, out + m * kTileRows),
              hn::Load(di, out + (kHalves ? kBlock + m : m) * kTileRows), scales[i], activations, m,
              acc[m]);
      }
      if (first + count < groups) {
        GUMBEL_UNROLL
        for (int m = 0; m < kBlock; ++m) hn::Store(acc[m], d, sum + m * kTileRows);
        continue;
      }
      const int64_t output = t * kTileRows;
      for (int m = 0; m < kBlock && row + m < task.rows; ++m)
        vnni::store_lanes(acc[m], task.outputs - output,
                          task.out + (row + m) * task.outputs + output);
    }
  }
}

/// LinearKernels::multiply.
template <WeightType kType>
void multiply(const LinearTask& task, int block, int64_t first, int64_t last) {
  if (block < kBlock) return vnni::multiply<kType>(task, block, first, last);
  static constexpr TileShapes kShapes = tile_shapes<traits(kType).sub_block == 16>();
  _tile_loadconfig(&kShapes);
  for (int64_t row = 0; row < task.rows; row += kMostRows) {
    LinearTask part = task;
    part.rows = std::min<int64_t>(task.rows - row, kMostRows);
    part.activations += row / kBlock * (task.columns / kGroup) * ActivationLayout{kBlock}.bytes();
    part.out += row * task.outputs;
    for (int64_t t = first; t < last; ++t) multiply_tile<kType>(part, t);
  }
  _tile_release();
}

inline LinearKernels quantized_kernels(WeightType type) {
  LinearKernels kernels = vnni::quantized_kernels(type);
  kernels.activations.most_rows = kBlock;
  switch (type) {
#define GUMBEL_CASE(type)                          \
  case WeightType::type:                           \
    kernels.multiply = multiply<WeightType::type>; \
    break;
    GUMBEL_QUANTIZED_TYPES(GUMBEL_CASE)
#undef GUMBEL_CASE
    default:
      break;
  }
  return kernels;
}

}  // namespace gumbel::cpu::HWY_NAMESPACE::amx
HWY_POP_ATTRIBUTES
HWY_AFTER_NAMESPACE();
