// Byte-pair encoding of one piece of text.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "text/record_view.h"

namespace gumbel {

/// Merges the symbols of a piece in order of rank, ties from the left, until no pair merges
/// (Sennrich, Haddow and Birch 2016, arXiv 1508.07909). A heap of candidates makes it n log n in
/// the length of the piece. Keeps its buffers from piece to piece.
class BytePairEncoder {
 public:
  /// `record` must outlive the encoder.
  explicit BytePairEncoder(const RecordView& record) : record_(record) {}

  /// Appends the ids of `piece`, valid UTF-8 of under 2^31 bytes, with spaces already spelt the way
  /// of the tokenizer's kind. What has no token becomes byte tokens, the unknown token, or nothing,
  /// in this order of preference.
  void append(std::string_view piece, std::vector<std::int64_t>& ids);

 private:
  // A stretch of the piece; merging lengthens the left one and unlinks the right one (length 0).
  struct Symbol {
    std::uint32_t begin, length;
    std::int32_t previous, next;  // −1: none
    std::uint32_t id;             // kNoToken: none
  };
  // A pair that may merge. Stale once either symbol has another length than when it was made.
  struct Candidate {
    std::uint32_t rank;
    std::int32_t left, right;
    std::uint32_t left_length, right_length;
    std::uint32_t merged;
  };

  void make_symbols(std::string_view piece);
  void add_symbol(std::size_t begin, std::size_t length, std::uint32_t id);
  void add_fallback(std::string_view piece, std::size_t begin, std::size_t length);
  void consider(std::string_view piece, std::int32_t left);
  bool has_byte_tokens(std::string_view bytes) const;
  void append_bytes(std::string_view bytes, std::vector<std::int64_t>& ids) const;

  const RecordView& record_;
  std::vector<Symbol> symbols_;
  std::vector<Candidate> heap_;
};

}  // namespace gumbel
