#include "export/gguf_checkpoint.h"

#include <array>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "export/checkpoint_index.h"
#include "export/gguf_blocks.h"
#include "export/quote.h"

namespace gumbel {
namespace {

using NamePair = std::pair<std::string_view, std::string_view>;

/// Names within a layer, GGUF's ("blk.N." before them) and Hugging Face's ("model.layers.N.").
constexpr NamePair kLayerNames[] = {
    {"attn_norm.weight", "input_layernorm.weight"},    {"attn_q.weight", "self_attn.q_proj.weight"},
    {"attn_k.weight", "self_attn.k_proj.weight"},      {"attn_v.weight", "self_attn.v_proj.weight"},
    {"attn_output.weight", "self_attn.o_proj.weight"}, {"ffn_gate.weight", "mlp.gate_proj.weight"},
    {"ffn_up.weight", "mlp.up_proj.weight"},           {"ffn_down.weight", "mlp.down_proj.weight"},
};
constexpr NamePair kQueryKeyNorms[] = {
    {"attn_q_norm.weight", "self_attn.q_norm.weight"},
    {"attn_k_norm.weight", "self_attn.k_norm.weight"},
};
/// Llama and Qwen have one norm before the MLP, Gemma one before and one after each half of a
/// layer.
constexpr NamePair kTwoNorms[] = {{"ffn_norm.weight", "post_attention_layernorm.weight"}};
constexpr NamePair kFourNorms[] = {
    {"post_attention_norm.weight", "post_attention_layernorm.weight"},
    {"ffn_norm.weight", "pre_feedforward_layernorm.weight"},
    {"post_ffw_norm.weight", "post_feedforward_layernorm.weight"},
};
constexpr NamePair kGlobalNames[] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output_norm.weight", "model.norm.weight"},
    {"output.weight", "lm_head.weight"},
};

std::string_view look_up(std::span<const NamePair> names, std::string_view name) {
  for (const auto& [gguf, hugging_face] : names)
    if (gguf == name) return hugging_face;
  return {};
}

/// Hugging Face's name of GGUF's `name`; nothing where the architecture has no such tensor.
std::optional<std::string> hugging_face_name(std::string_view name,
                                             const std::string& architecture) {
  if (const auto global = look_up(kGlobalNames, name); !global.empty()) return std::string(global);
  if (!name.starts_with("blk.")) return std::nullopt;
  const size_t dot = name.find('.', 4);
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string layer(name.substr(4, dot - 4));
  if (layer.empty() || layer.find_first_not_of("0123456789") != std::string::npos)
    return std::nullopt;
  const std::string_view part = name.substr(dot + 1);
  std::string_view found = look_up(kLayerNames, part);
  if (found.empty() && architecture != "llama") found = look_up(kQueryKeyNorms, part);
  if (found.empty())
    found = architecture == "gemma3" ? look_up(kFourNorms, part) : look_up(kTwoNorms, part);
  if (found.empty()) return std::nullopt;
  return "model.layers." + layer + "." + std::string(found);
}

/// A tensor of a GGUF file. With `head_dim` > 0 the rows are those of a query or key projection
/// whose heads are interleaved: GGUF's row 2i + j of a head is row j * head_dim / 2 + i of it in
/// half-split order.
class GgufCheckpointTensor : public CheckpointTensor {
 public:
  GgufCheckpointTensor(const GgufTensor& tensor, int64_t head_dim)
      : tensor_(tensor), head_dim_(head_dim) {}

  WeightType type() const override { return tensor_.type; }
  const std::vector<int64_t>& shape() const override { return tensor_.shape; }

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
  auto checkpoint = std::make_unique<GgufCheckpoint>(file);
  for (const GgufTensor& tensor : file->tensors()) {
    if (tensor.name == "rope_freqs.weight") continue;  // part of the configuration
    const auto name = hugging_face_name(tensor.name, config.architecture);
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
        *name, std::make_unique<GgufCheckpointTensor>(tensor, interleaved ? config.head_dim : 0));
  }
  return checkpoint;
}

}  // namespace gumbel
