#include "export/gguf/checkpoint.h"

#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quote.h"
#include "export/checkpoint_index.h"
#include "export/gguf/blocks.h"
#include "export/gguf/tensor_names.h"
#include "export/weights/row_view.h"

namespace gumbel {
namespace {

/// The shape under which families ask for the tensor: GGUF drops dimensions of 1.
std::vector<int64_t> hugging_face_shape(const GgufTensor& tensor, std::string_view name) {
  std::vector<int64_t> shape = tensor.shape;
  if (name.ends_with(".conv1d.weight") && shape.size() == 2) shape.insert(shape.begin() + 1, 1);
  if (name.ends_with(".shared_expert_gate.weight") && shape.size() == 1)
    shape.insert(shape.begin(), 1);
  return shape;
}

/// A tensor of a GGUF file. With `head_dim` > 0 the rows are those of a query or key projection
/// whose heads are interleaved: GGUF's row 2i + j of a head is row j * head_dim / 2 + i of it in
/// half-split order.
class GgufCheckpointTensor : public CheckpointTensor {
 public:
  GgufCheckpointTensor(const GgufTensor& tensor, std::vector<int64_t> shape, int64_t head_dim)
      : tensor_(tensor), shape_(std::move(shape)), head_dim_(head_dim) {}

  WeightType type() const override { return tensor_.type; }
  const std::vector<int64_t>& shape() const override { return shape_; }

  void read_rows(int64_t first, int64_t count, WeightRows& out) const override {
    check_row_range(tensor_.shape, first, count);
    out.resize(tensor_.type, count, tensor_.columns());
    for (int64_t row = 0; row < count; ++row) {
      unpack_gguf_row(
          tensor_.data.subspan(bytes_of_rows(stored_row(first + row)), bytes_of_rows(1)), row, out);
    }
  }

  void release_rows(int64_t first, int64_t count) const override {
    check_row_range(tensor_.shape, first, count);
    // Rows that are stored elsewhere in their head are near enough: heads are small.
    MappedFile::release(tensor_.data.subspan(bytes_of_rows(first), bytes_of_rows(count)));
  }

 private:
  size_t bytes_of_rows(int64_t count) const {
    return static_cast<size_t>(count * (tensor_.columns() / traits(tensor_.type).block) *
                               gguf_block_bytes(tensor_.type));
  }

  int64_t stored_row(int64_t row) const {
    if (head_dim_ == 0) return row;
    const int64_t in_head = row % head_dim_;
    const int64_t half = head_dim_ / 2;
    return row - in_head + 2 * (in_head % half) + in_head / half;
  }

  const GgufTensor& tensor_;
  std::vector<int64_t> shape_;
  int64_t head_dim_;
};

/// The index with the file that its tensors view.
class GgufCheckpoint : public CheckpointIndex {
 public:
  explicit GgufCheckpoint(std::shared_ptr<const GgufFile> file)
      : CheckpointIndex(file->name()), file_(std::move(file)) {}

 private:
  std::shared_ptr<const GgufFile> file_;
};

}  // namespace

std::unique_ptr<Checkpoint> gguf_checkpoint(const std::shared_ptr<const GgufFile>& file,
                                            const ModelConfig& config) {
  constexpr std::string_view kGateUp = "gate_up_proj";
  auto checkpoint = std::make_unique<GgufCheckpoint>(file);
  for (const GgufTensor& tensor : file->tensors()) {
    if (tensor.name == "rope_freqs.weight") continue;  // part of the configuration
    if (is_prediction_tensor(tensor.name, config)) continue;
    const auto name = hugging_face_name(tensor.name, config);
    if (!name)
      fail(ErrorCode::kUnsupported, "{}: tensor {} is not part of architecture {}", file->name(),
           quote(tensor.name), config.architecture);
    const bool interleaved =
        config.architecture == "llama" &&
        (tensor.name.ends_with(".attn_q.weight") || tensor.name.ends_with(".attn_k.weight"));
    if (interleaved && tensor.rows() % config.head_dim != 0)
      fail(ErrorCode::kCorruptFile, "{}: tensor {}: expected rows of a multiple of {}, got {}",
           file->name(), quote(tensor.name), config.head_dim, tensor.rows());
    checkpoint->add(
        *name, std::make_unique<GgufCheckpointTensor>(tensor, hugging_face_shape(tensor, *name),
                                                      interleaved ? config.head_dim : 0));
    if (name->ends_with(kGateUp))
      split_gate_up(*checkpoint, name->substr(0, name->size() - kGateUp.size()));
  }
  return checkpoint;
}

}  // namespace gumbel
