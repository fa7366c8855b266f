// A small program with every op, for tests of everything that reads or runs programs.
#pragma once

#include <cstdint>
#include <filesystem>

#include "export/graph/program_builder.h"
#include "program/program.h"
#include "runtime/backend.h"

namespace gumbel::test {

/// Shapes of a decoder of two layers, the second of which has a sliding window where `window` > 0;
/// a hybrid one has a third, of a gated delta net and experts, and a soft cap on its logits.
struct TinyModel {
  int64_t vocab = 50;
  int64_t width = 64;
  int64_t heads = 4;
  int64_t kv_heads = 2;
  int64_t head_dim = 16;
  int64_t window = 0;
  int64_t max_length = 64;
  int64_t max_chunk = 16;
  WeightType type = WeightType::kF32;  ///< of all matrices: kF32 or what quantize() makes
  DataType kv = DataType::kF32;
  bool hybrid = false;
  bool sample = false;  ///< forward returns tokens; forward_all always returns logits [B, T, V]
};

/// Writes the program, packed for `backend`, with weights that are the same every time. Returns
/// what was written.
Program write_tiny_program(const std::filesystem::path& path, const TinyModel& model,
                           const Backend& backend);

/// Writes the methods that `builder` has, with `model`'s constants, types and limits, likewise.
Program write_built_program(const std::filesystem::path& path, ProgramBuilder& builder,
                            const TinyModel& model, const Backend& backend);

}  // namespace gumbel::test
