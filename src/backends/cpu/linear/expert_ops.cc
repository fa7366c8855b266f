// The ops of mixtures of experts. Positions are grouped by expert, so that the weights of an expert
// are read once for all positions that chose it, and those of the others not at all.
#include <algorithm>
#include <cstring>
#include <limits>

#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/pieces.h"
#include "base/exp.h"

namespace gumbel::cpu {
namespace {

// How the scratch memory of expert_linear is laid out. A row is one choice of one position; rows
// are ordered by expert, and by themselves where the expert is the same.
struct ExpertScratch {
  int32_t* starts = nullptr;  // [experts + 1], of each expert's rows in the order
  int32_t* order = nullptr;   // [rows]
  // [experts + 1], of each expert's rows in `activations`, where every block is filled up
  int32_t* filled = nullptr;
  std::byte* activations = nullptr;  // the rows of x in that order: quantized, or float [rows, K]
  float* products = nullptr;         // [rows, N] in that order
  uint64_t bytes = 0;

  ExpertScratch(const LinearKernels& kernels, const PackedWeight& weight, int64_t rows,
                std::byte* memory) {
    const auto take = [&](int64_t size) {
      std::byte* at = memory + bytes;
      bytes += static_cast<uint64_t>((size + 63) / 64 * 64);
      return at;
    };
    starts = reinterpret_cast<int32_t*>(take((weight.matrices + 1) * int64_t{sizeof(int32_t)}));
    order = reinterpret_cast<int32_t*>(take(rows * int64_t{sizeof(int32_t)}));
    filled = reinterpret_cast<int32_t*>(take((weight.matrices + 1) * int64_t{sizeof(int32_t)}));
    // Blocks are filled up: at worst 9 rows to 16, or 3 to 4 and 5 to 8, less than twice.
    activations = take(kernels.quantize == nullptr
                           ? rows * weight.columns * int64_t{sizeof(float)}
                           : 2 * rows * (weight.columns / kGroup) * ActivationLayout{1}.bytes());
    products = reinterpret_cast<float*>(take(rows * weight.rows * int64_t{sizeof(float)}));
  }
};

// Fills `starts` and `order` by counting, and then `filled`.
void order_by_expert(const int64_t* experts, int64_t rows, int64_t expert_count,
                     const LinearKernels& kernels, const ExpertScratch& scratch) {
  std::fill_n(scratch.starts, expert_count + 1, 0);
  for (int64_t i = 0; i < rows; ++i) ++scratch.starts[experts[i] + 1];
  for (int64_t e = 0; e < expert_count; ++e) scratch.starts[e + 1] += scratch.starts[e];
  // Each start moves to its end, which is the next one's start, and back again.
  for (int64_t i = 0; i < rows; ++i)
    scratch.order[scratch.starts[experts[i]]++] = static_cast<int32_t>(i);
  for (int64_t e = expert_count; e > 0; --e) scratch.starts[e] = scratch.starts[e - 1];
  scratch.starts[0] = 0;

  scratch.filled[0] = 0;
  for (int64_t e = 0; e < expert_count; ++e) {
    const int32_t count = scratch.starts[e + 1] - scratch.starts[e];
    const int block =
        kernels.quantize == nullptr ? 1 : block_rows(count, kernels.activations.most_rows);
    scratch.filled[e + 1] = scratch.filled[e] + (count + block - 1) / block * block;
  }
}

}  // namespace

void CpuBackend::router(const OpCall& call) const {
  const Tensor& scores = call.inputs[0];
  const int64_t experts = scores.last();
  const int64_t top_k = call.outputs[0].last();
  const auto* factors =
      call.weights.empty() ? nullptr : reinterpret_cast<const float*>(call.weights[0].data);
  const int64_t rows = scores.elements() / experts;
  for_pieces(pool_, rows, rows * top_k * experts, [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const float* s = scores.as<float>() + row * experts;
      int64_t* chosen = call.outputs[0].as<int64_t>() + row * top_k;
      float* weights = call.outputs[1].as<float>() + row * top_k;
      // Insertion into the best so far; scores that are not above the last one, NaNs among them,
      // come in only while there is room.
      int64_t count = 0;
      for (int64_t e = 0; e < experts; ++e) {
        if (count == top_k && !(s[e] > s[chosen[count - 1]])) continue;
        int64_t at = count < top_k ? count++ : top_k - 1;
        for (; at > 0 && s[e] > s[chosen[at - 1]]; --at) chosen[at] = chosen[at - 1];
        chosen[at] = e;
      }
      float sum = 0.0f;
      for (int64_t k = 0; k < top_k; ++k) {
        weights[k] = exp_f32(s[chosen[k]] - s[chosen[0]]);
        sum = sum + weights[k];
      }
      for (int64_t k = 0; k < top_k; ++k) {
        weights[k] = weights[k] / sum;
        if (factors != nullptr) weights[k] = weights[k] * factors[chosen[k]];
      }
    }
  });
}

uint64_t CpuBackend::expert_scratch_bytes(const OpCall& call) const {
  const PackedWeight& weight = call.weights[0];
  return ExpertScratch(linear_[static_cast<size_t>(weight.type)], weight, call.inputs[1].elements(),
                       nullptr)
      .bytes;
}

void CpuBackend::expert_linear(const OpCall& call) const {
  const Tensor& x = call.inputs[0];
  const PackedWeight& weight = call.weights[0];
  const LinearKernels& kernels = linear_[static_cast<size_t>(weight.type)];
  const int64_t columns = weight.columns;
  const int64_t rows = call.inputs[1].elements();
  const int64_t choices_of_row = x.rank == 4 ? 1 : call.inputs[1].last();
  const ExpertScratch scratch(kernels, weight, rows, call.scratch.data());
  order_by_expert(call.inputs[1].as<int64_t>(), rows, weight.matrices, kernels, scratch);

  const int64_t row_bytes = kernels.quantize == nullptr
                                ? columns * int64_t{sizeof(float)}
                                : (columns / kGroup) * ActivationLayout{1}.bytes();
  const auto activations_of = [&](int64_t expert) {
    return scratch.activations + scratch.filled[expert] * row_bytes;
  };
  const auto prepare = [&](int64_t expert) {
    const int64_t first = scratch.starts[expert];
    const int64_t count = scratch.starts[expert + 1] - first;
    if (count == 0) return;
    std::byte* out = activations_of(expert);
    const int block = block_rows(count, kernels.activations.most_rows);
    const auto row_of = [&](int64_t i) {
      return x.as<float>() + scratch.order[first + i] / choices_of_row * columns;
    };
    if (kernels.quantize == nullptr) {
      for (int64_t i = 0; i < count; ++i)
        std::memcpy(out + i * row_bytes, row_of(i), static_cast<size_t>(row_bytes));
      return;
    }
    for (int64_t i = 0; i < scratch.filled[expert + 1] - scratch.filled[expert]; ++i)
      kernels.quantize(i < count ? row_of(i) : nullptr, columns, i, block, kernels.activations,
                       out);
  };
  for_pieces(pool_, weight.matrices, rows * columns, [&](int64_t begin, int64_t end) {
    for (int64_t expert = begin; expert < end; ++expert) prepare(expert);
  });

  const int64_t tiles = tile_count(weight.rows);
  const int64_t bytes_of_tile = tile_bytes(weight.type, columns);
  const auto multiply = [&](int64_t expert, int64_t first_tile, int64_t last_tile) {
    const int64_t first = scratch.starts[expert];
    LinearTask task;
    task.rows = scratch.starts[expert + 1] - first;
    task.weights = weight.data + expert * tiles * bytes_of_tile;
    task.tile_bytes = bytes_of_tile;
    task.columns = columns;
    task.outputs = weight.rows;
    task.activations = activations_of(expert);
    task.x = reinterpret_cast<const float*>(task.activations);
    task.out = scratch.products + first * weight.rows;
    kernels.multiply(task, block_rows(task.rows, kernels.activations.most_rows), first_tile,
                     last_tile);
  };
  // The tiles of the experts that were chosen, one after the other, are cut into pieces.
  int64_t chosen = 0;
  for (int64_t e = 0; e < weight.matrices; ++e) chosen += scratch.starts[e + 1] > scratch.starts[e];
  for_pieces(pool_, chosen * tiles, chosen * tiles * bytes_of_tile,
             [&](int64_t begin, int64_t end) {
               int64_t passed = 0;  // tiles of the chosen experts before this one
               for (int64_t e = 0; e < weight.matrices && passed < end; ++e) {
                 if (scratch.starts[e + 1] == scratch.starts[e]) continue;
                 const int64_t first = std::max(begin - passed, int64_t{0});
                 const int64_t last = std::min(end - passed, tiles);
                 if (first < last) multiply(e, first, last);
                 passed += tiles;
               }
             });

  for_pieces(pool_, rows, rows * weight.rows, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      std::memcpy(call.outputs[0].as<float>() + scratch.order[i] * weight.rows,
                  scratch.products + i * weight.rows,
                  static_cast<size_t>(weight.rows) * sizeof(float));
  });
}

void CpuBackend::expert_sum(const OpCall& call) const {
  const Tensor& x = call.inputs[0];
  const int64_t choices = x.dims[2];
  const int64_t width = x.dims[3];
  const int64_t positions = x.dims[0] * x.dims[1];
  for_pieces(pool_, positions, x.elements(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      vector_.weighted_sum(x.as<float>() + i * choices * width,
                           call.inputs[1].as<float>() + i * choices, choices,
                           call.outputs[0].as<float>() + i * width, width);
  });
}

}  // namespace gumbel::cpu
