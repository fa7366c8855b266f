#include "export/tied_tables.h"

#include <algorithm>
#include <cstring>

namespace gumbel {
namespace {

// Rows read at once: a few MB of the widest tables.
constexpr int64_t kRows = 64;

// Equal bits: NaN equals itself, and 0 differs from -0.
bool equal(const WeightRows& a, const WeightRows& b) {
  const auto equal_floats = [](const std::vector<float>& x, const std::vector<float>& y) {
    return x.size() == y.size() &&
           (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
  };
  return equal_floats(a.floats, b.floats) && a.halves == b.halves && a.codes == b.codes &&
         equal_floats(a.scale, b.scale) && a.sub_scale == b.sub_scale &&
         equal_floats(a.minimum, b.minimum) && a.sub_minimum == b.sub_minimum;
}

bool equal(const CheckpointTensor& a, const CheckpointTensor& b, int64_t rows) {
  if (a.type() != b.type()) return false;
  WeightRows of_a, of_b;
  bool same = true;
  for (int64_t first = 0; same && first < rows; first += kRows) {
    const int64_t count = std::min(kRows, rows - first);
    a.read_rows(first, count, of_a);
    b.read_rows(first, count, of_b);
    same = equal(of_a, of_b);
    a.release_rows(first, count);
    b.release_rows(first, count);
  }
  return same;
}

}  // namespace

void settle_tied_tables(ImportedModel& model) {
  constexpr const char* kTable = "model.embed_tokens.weight";
  constexpr const char* kHead = "lm_head.weight";
  const Checkpoint& weights = *model.weights;
  if (!weights.has(kTable) || !weights.has(kHead)) return;
  ModelConfig& config = model.config;
  const std::vector<int64_t> shape = {config.vocab_size, config.hidden_size};
  const bool same =
      equal(weights.tensor(kTable, shape), weights.tensor(kHead, shape), config.vocab_size);
  if (config.tied_embeddings && !same)
    model.notes.emplace_back(
        "the LM head is lm_head.weight, which differs from the embedding table that the "
        "configuration ties it to");
  config.tied_embeddings = same;
}

}  // namespace gumbel
