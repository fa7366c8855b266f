// Checking a program's weights while they are already in use.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>

#include "program/program_file.h"

namespace gumbel {

/// Reads every weight once, in the background and in ascending order, and compares its checksum.
/// Its pages are mapped on the way, so that what computes with them later does not stop at each:
/// random experts of a large model would for hundreds of tokens.
class WeightCheck {
 public:
  WeightCheck() = default;
  /// `file` must outlive this. Where the system has no thread to give, nothing is checked.
  explicit WeightCheck(const ProgramFile& file);
  WeightCheck(const WeightCheck&) = delete;
  WeightCheck& operator=(const WeightCheck&) = delete;

  /// Throws Error(kCorruptFile), as ProgramFile::check_weight() does, once a weight was found whose
  /// checksum differs. Costs one load.
  void expect_sound() const;

 private:
  void run(const std::stop_token& stop);

  const ProgramFile* file_ = nullptr;
  std::atomic<std::ptrdiff_t> damaged_ = -1;  // the first such weight
  std::jthread
      thread_;  // the last member: its destructor asks it to stop and waits, a step at most
};

}  // namespace gumbel
