#include "export/checkpoint_index.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"
#include "base/quote.h"

namespace gumbel {

void CheckpointIndex::add(const std::string& name, std::unique_ptr<CheckpointTensor> tensor) {
  if (!tensors_.emplace(name, std::move(tensor)).second)
    fail(ErrorCode::kCorruptFile, "{}: two tensors are {}", source_, quote(name));
}

bool CheckpointIndex::has(std::string_view name) const { return tensors_.contains(name); }

const CheckpointTensor& CheckpointIndex::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end())
    fail(ErrorCode::kNotFound, "{}: tensor {} is missing", source_, quote(name));
  return *found->second;
}

const CheckpointTensor& CheckpointIndex::tensor(std::string_view name,
                                                const std::vector<int64_t>& shape) const {
  const CheckpointTensor& found = find(name);
  if (found.shape() != shape)
    fail(ErrorCode::kCorruptFile, "{}: tensor {}: expected shape {}, got {}", source_, quote(name),
         shape_text(shape), shape_text(found.shape()));
  return found;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

void check_row_range(const std::vector<int64_t>& shape, int64_t first, int64_t count) {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  if (first < 0 || count < 0 || first > rows || count > rows - first)
    fail(ErrorCode::kInvalidArgument, "expected rows within the {} of a tensor, got {} from row {}",
         rows, count, first);
}

}  // namespace gumbel
