#include "text/special_matcher.h"

namespace gumbel {

SpecialMatcher::SpecialMatcher(const RecordView& record, RecordArray<SpecialToken> table)
    : record_(&record), table_(table) {
  for (std::size_t i = 0; i < table_.size(); ++i) {
    const std::string_view bytes = piece(i);
    if (!bytes.empty()) starts_[static_cast<unsigned char>(bytes[0])] = true;
  }
}

void SpecialMatcher::narrow(unsigned char byte, std::size_t depth, std::size_t& low,
                            std::size_t& high) const {
  // The first of [begin, high) whose byte at `depth` is at least `value`.
  const auto lower_bound = [&](std::size_t begin, unsigned value) {
    std::size_t end = high;
    while (begin < end) {
      const std::size_t middle = begin + (end - begin) / 2;
      const std::string_view bytes = piece(middle);
      const bool below = depth >= bytes.size() || static_cast<unsigned char>(bytes[depth]) < value;
      (below ? begin : end) = below ? middle + 1 : middle;
    }
    return begin;
  };
  low = lower_bound(low, byte);
  high = lower_bound(low, byte + 1u);
}

std::uint32_t SpecialMatcher::find_name(std::string_view name) const {
  std::size_t low = 0, high = table_.size();
  while (low < high) {
    const std::size_t middle = low + (high - low) / 2;
    const int order = piece(middle).compare(name);
    if (order == 0) return table_[middle].id;
    (order < 0 ? low : high) = order < 0 ? middle + 1 : middle;
  }
  return kNoToken;
}

}  // namespace gumbel
