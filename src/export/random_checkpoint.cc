#include "export/random_checkpoint.h"

#include <cmath>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/float16.h"
#include "export/checkpoint_index.h"

namespace gumbel {
namespace {

/// The finalizer of SplitMix64 (Steele, Lea and Flood 2014): a bijection whose output bits each
/// depend on every input bit.
constexpr uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/// FNV-1a.
constexpr uint64_t hash_name(std::string_view name) {
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

/// Whether a tensor multiplies element by element: norm weights, scales and scalars.
bool is_factor(std::string_view name) {
  const size_t last =
      name.ends_with(".weight") ? name.rfind('.', name.size() - 8) : name.rfind('.');
  const std::string_view part = name.substr(last == std::string_view::npos ? 0 : last);
  return part.find("norm") != std::string_view::npos || part.ends_with("scale") ||
         part.ends_with("scalar");
}

class RandomTensor : public CheckpointTensor {
 public:
  RandomTensor(std::string_view name, std::vector<int64_t> shape)
      : shape_(std::move(shape)), key_(hash_name(name)), is_factor_(is_factor(name)) {}

  WeightType type() const override { return WeightType::kBF16; }
  const std::vector<int64_t>& shape() const override { return shape_; }

  void read_rows(int64_t first, int64_t count, WeightRows& out) const override {
    check_row_range(shape_, first, count);
    const int64_t columns = shape_.empty() ? 1 : shape_.back();
    out.resize(WeightType::kBF16, count, columns);
    // A uniform variable on (-a, a) has the variance a^2 / 3.
    const float center = is_factor_ ? 1.0f : 0.0f;
    const float range = is_factor_ ? 0.1f : std::sqrt(3.0f / static_cast<float>(columns));
    const auto start = static_cast<uint64_t>(first * columns);
    for (size_t i = 0; i < out.halves.size(); ++i) {
      // Weyl sequence with the golden ratio's step, as in SplitMix64; 24 bits make a float exactly.
      const uint64_t word = mix(key_ + (start + i + 1) * 0x9E3779B97F4A7C15u);
      const float uniform = static_cast<float>(word >> 40) * 0x1p-23f - 1.0f;
      out.halves[i] = f32_to_bf16(center + range * uniform);
    }
  }

 private:
  std::vector<int64_t> shape_;
  uint64_t key_;
  bool is_factor_;
};

class RandomCheckpoint : public Checkpoint {
 public:
  bool has(std::string_view name) const override { return !name.ends_with(".bias"); }

  const CheckpointTensor& tensor(std::string_view name,
                                 const std::vector<int64_t>& shape) const override {
    const std::lock_guard lock(mutex_);
    auto& tensor = tensors_[{std::string(name), shape}];
    if (!tensor) tensor = std::make_unique<RandomTensor>(name, shape);
    return *tensor;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<std::pair<std::string, std::vector<int64_t>>, std::unique_ptr<RandomTensor>>
      tensors_;
};

}  // namespace

std::unique_ptr<Checkpoint> random_checkpoint() { return std::make_unique<RandomCheckpoint>(); }

}  // namespace gumbel
