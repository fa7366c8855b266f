// Program files: opening and writing. docs/program-format.md describes the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

#include "base/checksum.h"
#include "base/mapped_file.h"
#include "base/output_file.h"
#include "program/program.h"

namespace gumbel {

/// Whether the regular file `path` begins as programs of all versions of the format do. False where
/// it cannot be read.
bool begins_as_program(const std::filesystem::path& path);

/// A verified program in a memory-mapped file.
class ProgramFile {
 public:
  /// Maps and verifies `path`. Throws Error(kIo) or Error(kCorruptFile), whose message begins with
  /// the path.
  explicit ProgramFile(const std::filesystem::path& path);

  const Program& program() const { return program_; }
  uint64_t file_bytes() const { return file_.bytes().size(); }
  /// The segment of weight `i`, within the mapping.
  std::span<const std::byte> weight_bytes(size_t i) const;
  /// Reads weight `i`. Throws Error(kCorruptFile) naming it where its checksum differs.
  void check_weight(size_t i) const;
  /// Reads every weight. Throws as check_weight() does, for the first.
  void check_weights() const;

 private:
  MappedFile file_;
  Program program_;
};

/// Writes a program file, its weights in order and in pieces, so that only a piece is in memory.
class ProgramWriter {
 public:
  /// `program` has everything but offsets and checksums; WeightInfo::bytes are final. Its tokenizer
  /// bytes must live until finish(). Throws Error(kCorruptFile) for one that verify() refuses, so
  /// that what is written can be read, and Error(kIo).
  ProgramWriter(const std::filesystem::path& path, Program program);

  /// Appends to the segment of the current weight, moving on to the next when it is full.
  void append(std::span<const std::byte> bytes);
  /// Writes the header and gives the file its final name. All weights must be complete.
  void finish();

  const Program& program() const { return program_; }

 private:
  OutputFile file_;
  Program program_;
  size_t weight_ = 0;
  uint64_t written_ = 0;  // bytes of the current weight
  Checksum checksum_;     // of them
};

}  // namespace gumbel
