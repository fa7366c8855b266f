// Matrix products with weights of float types: one fused multiply-add per column, ascending.

#if defined(GUMBEL_BACKENDS_CPU_FLOAT_LINEAR_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GUMBEL_BACKENDS_CPU_FLOAT_LINEAR_INL_H
#undef GUMBEL_BACKENDS_CPU_FLOAT_LINEAR_INL_H
#else
#define GUMBEL_BACKENDS_CPU_FLOAT_LINEAR_INL_H
#endif

#include "backends/cpu/kernels.h"
#include "backends/cpu/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {

/// kLanes weights as float32, exactly.
template <WeightType kType>
HWY_INLINE VF32 load_weights(const std::byte* from) {
  if constexpr (kType == WeightType::kF32)
    return hn::LoadU(F32(), reinterpret_cast<const float*>(from));
  else if constexpr (kType == WeightType::kF16)
    return load_f16(reinterpret_cast<const uint16_t*>(from));
  else
    return load_bf16(reinterpret_cast<const uint16_t*>(from));
}

/// kRows rows of x times kTiles tiles. Every sum is one chain of multiply-adds of 4 cycles each,
/// two of which start in a cycle: 8 chains keep the units busy.
template <WeightType kType, int kRows, int kTiles>
HWY_INLINE void multiply_float_block(const LinearTask& task, int64_t tile, int64_t row) {
  constexpr int kColumnBytes = layout(kType).bytes;
  const std::byte* weights = task.weights + tile * task.tile_bytes;
  const float* x = task.x + row * task.columns;
  for (int lane = 0; lane < kTileRows; lane += kLanes) {
    VF32 acc[kRows][kTiles];
    GUMBEL_UNROLL
    for (int m = 0; m < kRows; ++m) {
      GUMBEL_UNROLL
      for (int t = 0; t < kTiles; ++t) acc[m][t] = hn::Zero(F32());
    }
    const std::byte* w = weights + lane * (kColumnBytes / kTileRows);
    for (int64_t k = 0; k < task.columns; ++k, w += kColumnBytes) {
      VF32 column[kTiles];
      GUMBEL_UNROLL
      for (int t = 0; t < kTiles; ++t) column[t] = load_weights<kType>(w + t * task.tile_bytes);
      GUMBEL_UNROLL
      for (int m = 0; m < kRows; ++m) {
        const VF32 value = hn::Set(F32(), x[m * task.columns + k]);
        GUMBEL_UNROLL
        for (int t = 0; t < kTiles; ++t)
          acc[m][t] = fused_multiply_add(value, column[t], acc[m][t]);
      }
    }
    for (int m = 0; m < kRows; ++m)
      for (int t = 0; t < kTiles; ++t) {
        const int64_t output = (tile + t) * kTileRows + lane;
        float lanes[16];
        hn::StoreU(acc[m][t], F32(), lanes);
        float* out = task.out + (row + m) * task.outputs + output;
        for (int64_t i = 0; i < kLanes && output + i < task.outputs; ++i) out[i] = lanes[i];
      }
  }
}

template <WeightType kType, int kTiles>
void multiply_float_rows(const LinearTask& task, int64_t tile) {
  int64_t row = 0;
  for (; row + 8 <= task.rows; row += 8)
    multiply_float_block<kType, 8, (kTiles < 2 ? kTiles : 2)>(task, tile, row);
  if constexpr (kTiles > 2) {
    // 8 rows of 4 tiles would be 32 sums: two tiles at a time.
    for (row = 0; row + 8 <= task.rows; row += 8)
      multiply_float_block<kType, 8, 2>(task, tile + 2, row);
  }
  for (; row + 2 <= task.rows; row += 2) multiply_float_block<kType, 2, kTiles>(task, tile, row);
  for (; row < task.rows; ++row) multiply_float_block<kType, 1, kTiles>(task, tile, row);
}

/// LinearKernels::multiply.
template <WeightType kType>
void multiply_float(const LinearTask& task, int /*block*/, int64_t first, int64_t last) {
  int64_t tile = first;
  for (; tile + 4 <= last; tile += 4) multiply_float_rows<kType, 4>(task, tile);
  for (; tile < last; ++tile) multiply_float_rows<kType, 1>(task, tile);
}

inline LinearKernels float_kernels(WeightType type) {
  switch (type) {
    case WeightType::kF32:
      return {{0, false, false, 8}, nullptr, multiply_float<WeightType::kF32>};
    case WeightType::kF16:
      return {{0, false, false, 8}, nullptr, multiply_float<WeightType::kF16>};
    default:
      return {{0, false, false, 8}, nullptr, multiply_float<WeightType::kBF16>};
  }
}

}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // GUMBEL_BACKENDS_CPU_FLOAT_LINEAR_INL_H
