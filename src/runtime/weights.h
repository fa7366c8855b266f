// The weights of a program, ready for a backend.
#pragma once

#include <span>
#include <vector>

#include "base/zeroed_memory.h"
#include "program/program_file.h"
#include "runtime/backend.h"

namespace gumbel {

/// Weights in the arrangement of one backend. Those of a file packed for it are used where they are
/// mapped; others are checked, unpacked and packed anew into memory of their own, which changes no
/// element.
class Weights {
 public:
  /// `file` must outlive this. Throws Error(kCorruptFile) where a segment has not the size that its
  /// packing needs or, packed anew, not its checksum, Error(kUnsupported) for a packing that is not known here.
  Weights(const ProgramFile& file, const Backend& backend);

  std::span<const PackedWeight> all() const { return weights_; }
  /// Whether they are used where they are mapped.
  bool are_mapped() const { return repacked_.empty(); }

 private:
  std::vector<PackedWeight> weights_;
  std::vector<ZeroedMemory> repacked_;
};

}  // namespace gumbel
