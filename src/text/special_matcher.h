// Finds control and user-defined tokens in text.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "text/record_view.h"

namespace gumbel {

/// Finds tokens of a table sorted by their bytes (a section kSpecials): leftmost first, of those at
/// one place the longest.
class SpecialMatcher {
 public:
  /// `record` must outlive the matcher; `table` is one of its two.
  SpecialMatcher(const RecordView& record, RecordArray<SpecialToken> table);

  struct Match {
    SpecialToken token;
    std::size_t begin, end;  ///< Bytes of the text; without white space that belongs to the token.
  };

  /// The first match at or after `from` that `allowed(match)` admits.
  template <typename Allowed>
  std::optional<Match> find(std::string_view text, std::size_t from, const Allowed& allowed) const {
    for (std::size_t begin = from; begin < text.size(); ++begin) {
      if (!starts_[static_cast<unsigned char>(text[begin])]) continue;
      std::optional<Match> longest;
      std::size_t low = 0, high = table_.size();
      for (std::size_t depth = 0; low < high; ++depth) {
        for (; low < high && piece(low).size() == depth; ++low) {
          const Match match{table_[low], begin, begin + depth};
          if (depth > 0 && allowed(match)) longest = match;
        }
        if (begin + depth >= text.size() || depth >= kMaxSpecialLength) break;
        narrow(static_cast<unsigned char>(text[begin + depth]), depth, low, high);
      }
      if (longest) return longest;
    }
    return {};
  }

  /// The token of exactly this name, or kNoToken.
  std::uint32_t find_name(std::string_view name) const;
  bool empty() const { return table_.size() == 0; }

 private:
  std::string_view piece(std::size_t index) const { return record_->piece(table_[index].id); }
  /// Narrows [low, high) to the tokens whose byte at `depth` is `byte`; the tokens there agree
  /// before.
  void narrow(unsigned char byte, std::size_t depth, std::size_t& low, std::size_t& high) const;

  const RecordView* record_;
  RecordArray<SpecialToken> table_;
  std::array<bool, 256> starts_{};  ///< Whether a token starts with this byte.
};

}  // namespace gumbel
