#include "export/weights/weight_writer.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/error.h"
#include "export/gguf/blocks.h"
#include "export/weights/quantize.h"
#include "export/weights/verify_finite.h"

namespace gumbel {
namespace {

// The elements of a batch. Each takes at most 24 bytes: 8 packed in two batches, the rest in the
// source's type, in float32 and quantized. That is 192 MiB.
constexpr int64_t kBatchElements = int64_t{1} << 23;
// Several pieces for each thread even out what the threads get done.
constexpr int64_t kPiecesOfThread = 8;
// A larger piece would leave the second-level cache between its steps.
constexpr int64_t kMaxPieceElements = int64_t{1} << 18;

// Bytes of rows as a file stores them.
uint64_t source_bytes(WeightType type, int64_t elements) {
  return static_cast<uint64_t>(elements / traits(type).block * gguf_block_bytes(type));
}

// Runs `action`, whose errors get the weight's name before them.
template <typename Action>
void naming(const WeightInfo& weight, const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    fail(error.code(), "{}: {}", weight.name, error.what());
  }
}

}  // namespace

/// Packed bytes that are appended as one.
struct WeightWriter::Piece {
  std::vector<std::byte> packed;
  uint64_t read = 0;  ///< bytes of the source
  std::exception_ptr error;
};

/// What making a piece needs besides.
struct WeightWriter::Scratch {
  WeightRows rows;
  WeightRows floats;
};

WeightWriter::WeightWriter(const Backend& backend, int threads, Append append, Progress progress)
    : backend_(backend),
      threads_(threads),
      append_(std::move(append)),
      progress_(std::move(progress)) {}

WeightWriter::~WeightWriter() = default;

void WeightWriter::append_pending() {
  for (size_t i = 0; i < pending_count_; ++i) {
    append_(pending_[i].packed);
    written_ += pending_[i].packed.size();
  }
  pending_count_ = 0;
}

void WeightWriter::run_batch(size_t pieces,
                             const std::function<void(size_t, Scratch&, Piece&)>& make) {
  if (made_.size() < pieces) made_.resize(pieces);
  if (scratch_.size() < pieces) scratch_.resize(pieces);
  std::exception_ptr append_error;
  // The pool's tasks must not throw. The first one appends; pieces are made beside it.
  threads_.parallel_for(pieces + 1, [&](size_t task) {
    if (task == 0) {
      try {
        append_pending();
      } catch (...) {
        append_error = std::current_exception();
      }
      return;
    }
    Piece& piece = made_[task - 1];
    try {
      make(task - 1, scratch_[task - 1], piece);
    } catch (...) {
      piece.error = std::current_exception();
    }
  });
  if (append_error) std::rethrow_exception(append_error);
  for (size_t i = 0; i < pieces; ++i) {
    if (made_[i].error) std::rethrow_exception(std::exchange(made_[i].error, nullptr));
    read_ += made_[i].read;
  }
  std::swap(made_, pending_);
  pending_count_ = pieces;
  report_progress();
}

void WeightWriter::report_progress() {
  if (progress_) progress_(read_, written_);
}

void WeightWriter::write_matrices(const WeightInfo& weight, const CheckpointTensor& tensor) {
  const int64_t columns = weight.columns();
  const int64_t run = backend_.rows_per_run();
  const int64_t most_pieces = kPiecesOfThread * threads_.threads();
  const int64_t piece_elements = std::min(kBatchElements / most_pieces, kMaxPieceElements);
  const int64_t piece_rows =
      std::min(std::max<int64_t>(1, piece_elements / (run * columns)) * run, weight.rows());
  const int64_t pieces_of_matrix = (weight.rows() + piece_rows - 1) / piece_rows;
  const int64_t pieces = weight.matrices() * pieces_of_matrix;
  const int64_t batch =
      std::clamp<int64_t>(kBatchElements / (piece_rows * columns), 1, most_pieces);
  // The row of the tensor that a piece begins with; that of the piece after the last ends it.
  const auto first_row = [&](int64_t piece) {
    return piece / pieces_of_matrix * weight.rows() + piece % pieces_of_matrix * piece_rows;
  };
  const auto make = [&](int64_t index, Scratch& scratch, Piece& piece) {
    const int64_t first = first_row(index);
    const int64_t count = std::min(piece_rows, weight.rows() - first % weight.rows());
    tensor.read_rows(first, count, scratch.rows);
    piece.read = source_bytes(scratch.rows.type, count * columns);
    const WeightRows* rows = &scratch.rows;
    WeightRows quantized;
    if (rows->type == weight.type) {
      verify_finite(*rows, first);
    } else {
      if (!traits(rows->type).is_float()) {
        scratch.floats.resize(WeightType::kF32, rows->rows, rows->columns);
        dequantize_rows(*rows, scratch.floats.floats);
        rows = &scratch.floats;
      }
      quantized = quantize(*rows, weight.type, first);
      rows = &quantized;
    }
    piece.packed.resize(backend_.packed_bytes(weight.type, count, columns));
    backend_.pack(*rows, piece.packed);
  };
  for (int64_t first = 0; first < pieces; first += batch) {
    const int64_t end = std::min(first + batch, pieces);
    run_batch(static_cast<size_t>(end - first), [&](size_t i, Scratch& scratch, Piece& piece) {
      naming(weight, [&] { make(first + static_cast<int64_t>(i), scratch, piece); });
    });
    // Again those of the batch before: reading maps pages around the one that is touched, so that
    // some of its last ones came back.
    const int64_t released = first_row(std::max<int64_t>(first - batch, 0));
    tensor.release_rows(released, first_row(end) - released);
  }
}

void WeightWriter::write_vector(const WeightInfo& weight, const CheckpointTensor& tensor) {
  WeightRows row;
  std::vector<float> values;
  naming(weight, [&] {
    tensor.read_rows(0, 1, row);
    verify_finite(row);
  });
  values.resize(static_cast<size_t>(row.columns));
  dequantize_row(row, 0, values);
  read_ += source_bytes(row.type, row.columns);
  write_values(values);
}

void WeightWriter::write_values(std::span<const float> values) {
  append_pending();
  const std::span<const std::byte> bytes = std::as_bytes(values);
  append_(bytes);
  written_ += bytes.size();
  report_progress();
}

void WeightWriter::finish() {
  append_pending();
  report_progress();
}

}  // namespace gumbel
