// Writing weights: reading, quantizing and packing on all cores, in bounded memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "export/checkpoint.h"
#include "program/program.h"
#include "runtime/backend.h"

namespace gumbel {

/// Makes the packed bytes of one weight after the other. A weight is read in pieces of whole runs
/// of rows; a batch of pieces is read, quantized and packed on all threads while the batch before
/// it is appended, which may be of an earlier weight. The bytes depend on the weights and the
/// backend's packing alone, not on the threads. Buffers take at most about 256 MiB, however large a
/// weight is, as long as the runs of its matrices are smaller than that.
class WeightWriter {
 public:
  /// Takes bytes that follow those before them; may throw.
  using Append = std::function<void(std::span<const std::byte> bytes)>;
  /// Called after every batch with the bytes that were read from the source and those that were
  /// appended so far; may throw.
  using Progress = std::function<void(uint64_t read, uint64_t written)>;

  /// `threads` as ThreadPool takes them. `backend` must outlive the writer.
  WeightWriter(const Backend& backend, int threads, Append append, Progress progress = nullptr);
  ~WeightWriter();

  /// Writes a matrix, or E matrices [E, rows, columns] one after the other, each packed on its own,
  /// as `weight.type`: the tensor's own or kQ8_0, kQ4_0 or kQ4_1. Throws what reading and
  /// quantize() throw, beginning with the weight's name and counting the rows of all matrices
  /// together; and Error(kInvalidArgument) naming row and column of a weight that is not finite.
  void write_matrices(const WeightInfo& weight, const CheckpointTensor& tensor);
  /// Writes a vector as float32. Throws as write_matrices.
  void write_vector(const WeightInfo& weight, const CheckpointTensor& tensor);
  /// Writes values that were computed.
  void write_values(std::span<const float> values);
  /// Appends what is left. To be called after the last weight.
  void finish();

 private:
  struct Piece;
  struct Scratch;
  void run_batch(size_t pieces, const std::function<void(size_t, Scratch&, Piece&)>& make);
  void append_pending();
  void report_progress();

  const Backend& backend_;
  ThreadPool threads_;
  Append append_;
  Progress progress_;
  std::vector<Scratch> scratch_;
  std::vector<Piece> made_;     ///< of the batch in progress
  std::vector<Piece> pending_;  ///< of the batch before, to be appended
  size_t pending_count_ = 0;
  uint64_t read_ = 0;
  uint64_t written_ = 0;
};

}  // namespace gumbel
