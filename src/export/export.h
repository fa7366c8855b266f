// Exporting: a model goes in, a program file comes out.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "export/import.h"
#include "program/graph.h"
#include "program/program.h"
#include "runtime/backend.h"

namespace gumbel {

/// What becomes of the weights' precision.
enum class Quantization {
  kNone,  ///< as the source has them
  kQ8,    ///< 8 bits in groups of 32
  kQ4,    ///< 4 bits in groups of 32; the embedding table and the LM head keep 8
};

/// How far an export is, in bytes.
struct ExportProgress {
  uint64_t read = 0;     ///< of the source's weights
  uint64_t written = 0;  ///< of the program's weights
  uint64_t total = 0;    ///< of the program's weights that will have been written at the end
};

struct ExportOptions {
  bool sample = false;  ///< forward returns tokens instead of logits
  Quantization quantization = Quantization::kNone;
  /// Positions that a session can hold. None: the model's own context or 8,192, whichever is less.
  std::optional<int64_t> max_sequence_length = std::nullopt;
  /// Type of the key-value cache. None: f32 where all matrices are of float types, else f16.
  std::optional<DataType> kv_type = std::nullopt;
  /// Threads that read, quantize and pack, as ThreadPool takes them. The file does not depend on
  /// it.
  int threads = 0;
  /// Called now and then; what it throws ends the export.
  std::function<void(const ExportProgress&)> progress = nullptr;
};

/// Writes `model` to `path` as a program packed for `backend`, in bounded memory (weight_writer.h).
/// The file has its final name only when it is complete. Throws Error for what the model lacks,
/// weights that are not finite, options out of range and files that cannot be written; before
/// anything is written, Error(kInvalidArgument) where `path`, or the temporary name beside it, is
/// one of `model.source_files` by any name. Returns the program that was written.
Program export_program(const ImportedModel& model, const ExportOptions& options,
                       const Backend& backend, const std::filesystem::path& path);

}  // namespace gumbel
