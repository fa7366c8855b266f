#include "text/bpe.h"

#include <algorithm>

#include "base/utf8.h"

namespace gumbel {

void BytePairEncoder::append(std::string_view piece, std::vector<std::int64_t>& ids) {
  if (piece.empty()) return;
  if (record_.has(kFlagIgnoreMerges)) {
    const std::uint32_t whole = record_.find_piece(piece);
    if (whole != kNoToken) {
      ids.push_back(whole);
      return;
    }
  }

  make_symbols(piece);
  heap_.clear();
  for (std::size_t i = 0; i + 1 < symbols_.size(); ++i)
    consider(piece, static_cast<std::int32_t>(i));
  const auto later = [](const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
  };
  std::make_heap(heap_.begin(), heap_.end(), later);
  // Each merge removes a symbol and adds at most two candidates, so there are at most 3n of them.
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), later);
    const Candidate best = heap_.back();
    heap_.pop_back();
    Symbol& left = symbols_[static_cast<std::size_t>(best.left)];
    Symbol& right = symbols_[static_cast<std::size_t>(best.right)];
    if (left.length != best.left_length || right.length != best.right_length) continue;
    left.length += right.length;
    left.id = best.merged;
    left.next = right.next;
    right.length = 0;
    if (right.next >= 0) symbols_[static_cast<std::size_t>(right.next)].previous = best.left;
    const std::int32_t neighbours[] = {left.previous, best.left};
    for (const std::int32_t neighbour : neighbours) {
      const std::size_t before = heap_.size();
      if (neighbour >= 0) consider(piece, neighbour);
      if (heap_.size() > before) std::push_heap(heap_.begin(), heap_.end(), later);
    }
  }

  for (std::int32_t i = symbols_.empty() ? -1 : 0; i >= 0;) {
    const Symbol& symbol = symbols_[static_cast<std::size_t>(i)];
    if (symbol.id != kNoToken) {
      ids.push_back(symbol.id);
    } else {
      append_bytes(piece.substr(symbol.begin, symbol.length), ids);
    }
    i = symbol.next;
  }
}

void BytePairEncoder::add_symbol(std::size_t begin, std::size_t length, std::uint32_t id) {
  const auto index = static_cast<std::int32_t>(symbols_.size());
  if (index > 0) symbols_.back().next = index;
  symbols_.push_back(
      {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(length), index - 1, -1, id});
}

void BytePairEncoder::make_symbols(std::string_view piece) {
  symbols_.clear();
  if (record_.kind() == TokenizerKind::kByteLevel) {
    for (std::size_t i = 0; i < piece.size(); ++i) {
      std::uint32_t id = record_.byte_token(static_cast<unsigned char>(piece[i]));
      if (id == kNoToken) id = record_.header().unknown_id;
      if (id != kNoToken) add_symbol(i, 1, id);
    }
    return;
  }
  for (std::size_t i = 0; i < piece.size();) {
    const std::size_t length = read_utf8(piece.substr(i)).length;
    const std::uint32_t id = record_.find_piece(piece.substr(i, length));
    // Where merges are ranked by the token they make, a character without a token may still be part
    // of one, so its fallback waits until the end.
    if (id != kNoToken || record_.ranks_tokens()) {
      add_symbol(i, length, id);
    } else {
      add_fallback(piece, i, length);
    }
    i += length;
  }
}

void BytePairEncoder::add_fallback(std::string_view piece, std::size_t begin, std::size_t length) {
  const auto bytes = piece.substr(begin, length);
  if (has_byte_tokens(bytes)) {
    for (std::size_t i = 0; i < length; ++i) {
      add_symbol(begin + i, 1, record_.byte_token(static_cast<unsigned char>(bytes[i])));
    }
    return;
  }
  const std::uint32_t unknown = record_.header().unknown_id;
  if (unknown == kNoToken) return;
  const bool fuses = record_.has(kFlagFuseUnknown) && !symbols_.empty() &&
                     symbols_.back().id == unknown &&
                     symbols_.back().begin + symbols_.back().length == begin;
  if (fuses) {
    symbols_.back().length += static_cast<std::uint32_t>(length);
  } else {
    add_symbol(begin, length, unknown);
  }
}

void BytePairEncoder::consider(std::string_view piece, std::int32_t left_index) {
  const Symbol& left = symbols_[static_cast<std::size_t>(left_index)];
  if (left.next < 0) return;
  const Symbol& right = symbols_[static_cast<std::size_t>(left.next)];
  Candidate candidate{0, left_index, left.next, left.length, right.length, 0};
  if (record_.ranks_tokens()) {
    candidate.merged = record_.find_piece(piece.substr(left.begin, left.length + right.length));
    if (candidate.merged == kNoToken) return;
    candidate.rank = record_.token_rank(candidate.merged);
    if (candidate.rank == kNoRank) return;
  } else {
    const auto pair = record_.find_pair(left.id, right.id);
    if (!pair) return;
    candidate.rank = pair->rank;
    candidate.merged = pair->merged;
  }
  heap_.push_back(candidate);
}

bool BytePairEncoder::has_byte_tokens(std::string_view bytes) const {
  return record_.has(kFlagByteFallback) && std::all_of(bytes.begin(), bytes.end(), [&](char byte) {
           return record_.byte_token(static_cast<unsigned char>(byte)) != kNoToken;
         });
}

void BytePairEncoder::append_bytes(std::string_view bytes, std::vector<std::int64_t>& ids) const {
  if (has_byte_tokens(bytes)) {
    for (const char byte : bytes)
      ids.push_back(record_.byte_token(static_cast<unsigned char>(byte)));
  } else if (record_.header().unknown_id != kNoToken) {
    ids.push_back(record_.header().unknown_id);
  }
}

}  // namespace gumbel
