#include "runtime/weights.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace gumbel {
namespace {

// One of the stacked matrices of `weight`.
PackedWeight matrix_of(const PackedWeight& weight, int64_t i, const Backend& backend) {
  PackedWeight matrix = weight;
  matrix.matrices = 1;
  matrix.data +=
      static_cast<uint64_t>(i) * backend.packed_bytes(weight.type, weight.rows, weight.columns);
  return matrix;
}

uint64_t packed_bytes(const PackedWeight& weight, const Backend& backend) {
  return static_cast<uint64_t>(weight.matrices) *
         backend.packed_bytes(weight.type, weight.rows, weight.columns);
}

ZeroedMemory repack(const PackedWeight& weight, const Backend& from, const Backend& to) {
  ZeroedMemory memory(packed_bytes(weight, to), "repacked weights");
  std::span<std::byte> rest = memory.bytes();
  WeightRows rows;
  for (int64_t i = 0; i < weight.matrices; ++i) {
    const PackedWeight matrix = matrix_of(weight, i, from);
    for (int64_t first = 0; first < matrix.rows; first += to.rows_per_run()) {
      const int64_t count = std::min(to.rows_per_run(), matrix.rows - first);
      from.unpack(matrix, first, count, rows);
      const uint64_t bytes = to.packed_bytes(matrix.type, count, matrix.columns);
      to.pack(rows, rest.first(bytes));
      rest = rest.subspan(bytes);
    }
  }
  return memory;
}

}  // namespace

Weights::Weights(const ProgramFile& file, const Backend& backend) {
  const Program& program = file.program();
  std::unique_ptr<Backend> packer;
  if (program.packing != backend.name()) packer = make_backend(program.packing, 1);
  const Backend& source = packer ? *packer : backend;
  for (size_t i = 0; i < program.weights.size(); ++i) {
    const WeightInfo& info = program.weights[i];
    if (packer) file.check_weight(i);
    PackedWeight weight{info.type,      info.matrices(),        info.rows(),
                        info.columns(), info.shape.size() == 1, file.weight_bytes(i).data()};
    if (!weight.is_vector) {
      const uint64_t expected = packed_bytes(weight, source);
      if (info.bytes != expected)
        fail(ErrorCode::kCorruptFile, "weight {}: expected {} bytes as {} packs {} {}, got {}",
             info.name, expected, program.packing, traits(info.type).name, to_string(info.shape),
             info.bytes);
      if (packer) {
        repacked_.push_back(repack(weight, source, backend));
        weight.data = repacked_.back().bytes().data();
      }
    }
    weights_.push_back(weight);
  }
}

}  // namespace gumbel
