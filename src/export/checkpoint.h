// A checkpoint's tensors, wherever they lie, under Hugging Face's names and conventions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "program/weight_rows.h"

namespace gumbel {

/// One tensor of a checkpoint. Readers normalize what differs between formats, so that a family
/// sees one convention: Hugging Face's names; rotary heads in half-split order (GGUF's interleaved
/// rows of llama are put back); norm weights as the factor that multiplies (Gemma's 1 + w is added
/// up).
class CheckpointTensor {
 public:
  virtual ~CheckpointTensor() = default;
  virtual WeightType type() const = 0;
  /// Outermost dimension first, as Hugging Face writes it: [rows, columns] of a matrix.
  virtual const std::vector<int64_t>& shape() const = 0;
  /// Reads rows [first, first + count) of a matrix (a vector is one row; all dimensions
  /// but the last count as rows) into `out`, resizing it.
  /// Several threads may read at once.
  virtual void read_rows(int64_t first, int64_t count, WeightRows& out) const = 0;
  /// Says that rows were read and are not needed soon: what memory holds of them can go. They may
  /// be read again.
  virtual void release_rows(int64_t /*first*/, int64_t /*count*/) const {}
};

/// The tensors of a checkpoint, looked up by Hugging Face name.
class Checkpoint {
 public:
  virtual ~Checkpoint() = default;
  virtual bool has(std::string_view name) const = 0;
  /// The tensor `name`, which must have this shape. Throws Error(kNotFound) naming a missing tensor
  /// and Error(kCorruptFile) naming the tensor with the expected and the found shape. The reference
  /// lives as long as the checkpoint.
  virtual const CheckpointTensor& tensor(std::string_view name,
                                         const std::vector<int64_t>& shape) const = 0;
};

}  // namespace gumbel
