// The CPU backend: vector kernels, chosen once for the machine, over a pool of threads.
#pragma once

#include <array>
#include <memory>

#include "backends/cpu/kernels.h"
#include "backends/cpu/target.h"
#include "base/thread_pool.h"
#include "runtime/backend.h"

namespace gumbel::cpu {

/// Computes the bits of docs/numerics.md, those of the reference backend, with any instruction set
/// and number of threads. docs/cpu-backend.md describes it.
class CpuBackend final : public Backend {
 public:
  /// `target` is one of supported_targets(); threads as ThreadPool's.
  CpuBackend(CpuTarget target, int threads);

  std::string_view name() const override { return "cpu"; }
  int64_t rows_per_run() const override { return kTileRows; }
  uint64_t packed_bytes(WeightType type, int64_t rows, int64_t columns) const override;
  void pack(const WeightRows& rows, std::span<std::byte> packed) const override;
  void unpack(const PackedWeight& matrix, int64_t first, int64_t count,
              WeightRows& rows) const override;
  uint64_t scratch_bytes(const OpCall& call) const override;
  void execute(const OpCall& call) override;

 private:
  void embedding(const OpCall& call) const;
  void rms_norm(const OpCall& call) const;
  void linear(const OpCall& call) const;
  void rotary_table(const OpCall& call) const;
  void rotary(const OpCall& call) const;
  void cache_update(const OpCall& call) const;
  void attention(const OpCall& call) const;
  void add(const OpCall& call) const;
  void gated_activation(const OpCall& call) const;
  void select_last(const OpCall& call) const;
  void sample(const OpCall& call) const;
  void scale(const OpCall& call) const;
  void soft_cap(const OpCall& call) const;
  void slice(const OpCall& call) const;
  void router(const OpCall& call) const;
  void expert_linear(const OpCall& call) const;
  uint64_t expert_scratch_bytes(const OpCall& call) const;
  void expert_sum(const OpCall& call) const;
  void causal_conv(const OpCall& call) const;
  void gated_delta_rule(const OpCall& call) const;

  CpuTarget target_;
  ThreadPool pool_;
  std::array<LinearKernels, kWeightTypeCount> linear_;
  AttentionKernels attention_f16_;
  AttentionKernels attention_f32_;
  VectorKernels vector_;
  RecurrentKernels recurrent_;
};

/// A backend for the target that chosen_target() gives.
std::unique_ptr<Backend> make_cpu_backend(int threads);

}  // namespace gumbel::cpu
