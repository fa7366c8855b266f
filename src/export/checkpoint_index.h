// Lookup of tensors by name and shape, shared by the checkpoints of all formats.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "export/checkpoint.h"

namespace gumbel {

/// A checkpoint whose tensors are all known from the start.
class CheckpointIndex : public Checkpoint {
 public:
  /// `source` names the files in messages.
  explicit CheckpointIndex(std::string source) : source_(std::move(source)) {}

  /// Throws Error(kCorruptFile) where there is a tensor of that name already.
  void add(const std::string& name, std::unique_ptr<CheckpointTensor> tensor);

  /// The tensor `name` of whatever shape. Throws Error(kNotFound).
  const CheckpointTensor& find(std::string_view name) const;
  const std::string& source() const { return source_; }

  bool has(std::string_view name) const override;
  const CheckpointTensor& tensor(std::string_view name,
                                 const std::vector<int64_t>& shape) const override;

 private:
  std::string source_;
  std::map<std::string, std::unique_ptr<CheckpointTensor>, std::less<>> tensors_;
};

/// "[576, 1536]".
std::string shape_text(const std::vector<int64_t>& shape);

/// Throws Error(kInvalidArgument) unless rows [first, first + count) lie within `shape`, all of
/// whose dimensions but the last count as rows.
void check_row_range(const std::vector<int64_t>& shape, int64_t first, int64_t count);

}  // namespace gumbel
