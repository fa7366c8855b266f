#include "export/special_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace gumbel {
namespace {

void sort_once(std::vector<int64_t>& ids) {
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

}  // namespace

void fit_special_ids(ImportedModel& model) {
  const int64_t rows = model.config.vocab_size;
  const auto is_row = [&](int64_t id) { return id >= 0 && id < rows; };
  const auto note = [&](std::string_view what, int64_t id, size_t others) {
    const std::string more = others == 0 ? "" : fmt::format(" and {} more", others);
    model.notes.push_back(
        fmt::format("left out the {} id {}{}, expected rows 0 to {} of the embedding table", what,
                    id, more, rows - 1));
  };
  // -1 is none.
  const auto fit = [&](int64_t& id, std::string_view what) {
    if (id == -1 || is_row(id)) return;
    note(what, id, 0);
    id = -1;
  };

  if (model.tokenizer) {
    TokenizerDefinition& tokenizer = *model.tokenizer;
    model.eos_ids.insert(model.eos_ids.end(), tokenizer.end_ids.begin(), tokenizer.end_ids.end());
    std::erase_if(tokenizer.end_ids, [&](int64_t id) { return !is_row(id); });
    // It is one of end_ids, whose note is below.
    if (!is_row(tokenizer.eos_id)) tokenizer.eos_id = -1;
    tokenizer.add_eos = tokenizer.add_eos && tokenizer.eos_id >= 0;
    fit(tokenizer.unknown_id, "unknown");
    if (tokenizer.bos_id == model.bos_id) model.bos_id = -1;
    fit(tokenizer.bos_id, "BOS");
    tokenizer.add_bos = tokenizer.add_bos && tokenizer.bos_id >= 0;
  }
  fit(model.bos_id, "BOS");
  if (model.tokenizer && model.tokenizer->bos_id >= 0) model.bos_id = model.tokenizer->bos_id;

  std::vector<int64_t>& ids = model.eos_ids;
  sort_once(ids);
  const auto others = std::stable_partition(ids.begin(), ids.end(), is_row);
  if (others != ids.end())
    note("end-of-turn", *others, static_cast<size_t>(ids.end() - others) - 1);
  ids.erase(others, ids.end());
}

}  // namespace gumbel
