#include "export/huggingface/safetensors_checkpoint.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/float16.h"
#include "base/quote.h"
#include "export/byte_cursor.h"
#include "export/checkpoint_index.h"
#include "export/weights/row_view.h"

namespace gumbel {
namespace {

/// The name of a tensor of the language model alone.
std::string canonical_name(const std::string& name) {
  // transformers 5 and 4 respectively; the head stands outside of the inner model.
  for (const auto& [prefix, plain] :
       {std::pair<std::string_view, std::string_view>{"model.language_model.", "model."},
        {"language_model.model.", "model."},
        {"language_model.lm_head.", "lm_head."}})
    if (name.starts_with(prefix)) return std::string(plain) + name.substr(prefix.size());
  return name;
}

/// The embedding table, which is also the LM head where the two are tied.
constexpr std::string_view kTable = "model.embed_tokens.weight";

/// Whether the weights of a norm are stored as what is added to 1.
bool is_zero_centered(std::string_view name, std::string_view architecture) {
  if (!name.ends_with("norm.weight")) return false;
  if (architecture == "gemma3") return true;
  return architecture.starts_with("qwen3_5") && !name.ends_with(".linear_attn.norm.weight");
}

class SafetensorsCheckpointTensor : public CheckpointTensor {
 public:
  SafetensorsCheckpointTensor(const SafetensorsTensor& tensor, bool add_one, std::string where)
      : tensor_(tensor),
        stored_(safetensors_weight_type(tensor.dtype)),
        add_one_(add_one),
        where_(std::move(where)) {}

  WeightType type() const override { return add_one_ ? WeightType::kF32 : stored_type(); }
  const std::vector<int64_t>& shape() const override { return tensor_.shape; }

  void read_rows(int64_t first, int64_t count, WeightRows& out) const override {
    const WeightType stored = stored_type();
    check_row_range(tensor_.shape, first, count);
    const int64_t columns = tensor_.shape.empty() ? 1 : tensor_.shape.back();
    out.resize(type(), count, columns);
    const auto values = static_cast<size_t>(count * columns);
    if (values == 0) return;
    const size_t element_bytes = bytes_of_rows(1) / static_cast<size_t>(columns);
    const std::byte* data = tensor_.data.data() + bytes_of_rows(first);
    if (!add_one_) {
      void* target = stored == WeightType::kF32 ? static_cast<void*>(out.floats.data())
                                                : static_cast<void*>(out.halves.data());
      std::memcpy(target, data, values * element_bytes);
      return;
    }
    for (size_t i = 0; i < values; ++i) {
      const std::byte* element = data + i * element_bytes;
      const float weight = stored == WeightType::kF32   ? load<float>(element)
                           : stored == WeightType::kF16 ? f16_to_f32(load<uint16_t>(element))
                                                        : bf16_to_f32(load<uint16_t>(element));
      out.floats[i] = 1.0f + weight;
    }
  }

  void release_rows(int64_t first, int64_t count) const override {
    check_row_range(tensor_.shape, first, count);
    MappedFile::release(tensor_.data.subspan(bytes_of_rows(first), bytes_of_rows(count)));
  }

 private:
  size_t bytes_of_rows(int64_t count) const {
    const int64_t columns = tensor_.shape.empty() ? 1 : tensor_.shape.back();
    return static_cast<size_t>(count * columns) * (stored_type() == WeightType::kF32 ? 4 : 2);
  }

  WeightType stored_type() const {
    if (stored_) return *stored_;
    fail(ErrorCode::kUnsupported, "{}: tensor {}: expected dtype F32, F16 or BF16, got {}", where_,
         quote(tensor_.name), tensor_.dtype);
  }

  const SafetensorsTensor& tensor_;
  std::optional<WeightType> stored_;
  bool add_one_;
  std::string where_;
};

/// The index with the file that its tensors view.
class SafetensorsCheckpoint : public CheckpointIndex {
 public:
  SafetensorsCheckpoint(SafetensorsFile file, const ModelConfig& config, const std::string& source)
      : CheckpointIndex(source), file_(std::move(file)) {
    const bool has_table =
        std::any_of(file_.tensors().begin(), file_.tensors().end(),
                    [](const auto& entry) { return canonical_name(entry.first) == kTable; });
    for (const auto& [name, tensor] : file_.tensors()) {
      if (!skipped_part(name).empty()) continue;
      std::string canonical = canonical_name(name);
      if (canonical == "lm_head.weight" && config.tied_embeddings && !has_table) canonical = kTable;
      const bool add_one = is_zero_centered(canonical, config.architecture);
      add(canonical, std::make_unique<SafetensorsCheckpointTensor>(tensor, add_one, source));
      constexpr std::string_view kGateUp = "gate_up_proj";
      if (canonical.ends_with(std::string(".experts.") + std::string(kGateUp)))
        split_gate_up(*this, canonical.substr(0, canonical.size() - kGateUp.size()));
    }
  }

  const CheckpointTensor& tensor(std::string_view name,
                                 const std::vector<int64_t>& shape) const override {
    const CheckpointTensor& found = CheckpointIndex::tensor(name, shape);
    // The dtype is checked here, so that an export does not fail halfway. A vector of one element
    // type is all that type() needs.
    static_cast<void>(found.type());
    return found;
  }

 private:
  SafetensorsFile file_;
};

}  // namespace

std::string_view skipped_part(std::string_view name) {
  constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {"visual.", "vision"},
      {"vision_tower.", "vision"},
      {"vision_embedder.", "vision"},
      {"embed_vision.", "vision"},
      {"multi_modal_projector.", "vision"},
      {"audio_tower.", "audio"},
      {"embed_audio.", "audio"},
      {"mtp.", "multi-token prediction"},
  };
  if (name.starts_with("model.")) name.remove_prefix(6);
  for (const auto& [prefix, part] : kParts)
    if (name.starts_with(prefix)) return part;
  return {};
}

std::optional<WeightType> safetensors_weight_type(std::string_view dtype) {
  if (dtype == "F32") return WeightType::kF32;
  if (dtype == "F16") return WeightType::kF16;
  if (dtype == "BF16") return WeightType::kBF16;
  return std::nullopt;
}

std::unique_ptr<Checkpoint> safetensors_checkpoint(SafetensorsFile file, const ModelConfig& config,
                                                   std::string_view source) {
  return std::make_unique<SafetensorsCheckpoint>(std::move(file), config, std::string(source));
}

}  // namespace gumbel
