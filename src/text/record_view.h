// Checked access to the bytes of a tokenizer's record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "text/record_layout.h"
#include "text/tokenizer_definition.h"

namespace gumbel {

/// An array of T within a record, at any alignment. Reading past its end gives T().
template <typename T>
class RecordArray {
 public:
  RecordArray() = default;
  RecordArray(const std::byte* bytes, std::size_t count) : bytes_(bytes), count_(count) {}
  std::size_t size() const { return count_; }
  T operator[](std::size_t index) const {
    T value{};
    if (index < count_) std::memcpy(&value, bytes_ + index * sizeof(T), sizeof(T));
    return value;
  }

 private:
  const std::byte* bytes_ = nullptr;
  std::size_t count_ = 0;
};

/// A record whose header, sections, piece offsets and buckets have been verified. What is not
/// verified up front (ids inside tables) is checked when it is read.
class RecordView {
 public:
  /// Throws Error(kCorruptFile) for bytes that are no record of this version.
  explicit RecordView(std::span<const std::byte> record);

  const RecordHeader& header() const { return header_; }
  TokenizerKind kind() const { return static_cast<TokenizerKind>(header_.kind); }
  bool has(RecordFlag flag) const { return (header_.flags & flag) != 0; }
  std::uint32_t vocab_size() const { return header_.vocab_size; }

  /// Empty for an id outside the vocabulary.
  std::string_view piece(std::uint32_t id) const;
  TokenType type(std::uint32_t id) const { return static_cast<TokenType>(types_[id]); }
  /// The token that byte-pair encoding gives for a piece, or kNoToken.
  std::uint32_t find_piece(std::string_view bytes) const;
  /// The merge of a pair; none if there is none or it names no token.
  std::optional<MergePair> find_pair(std::uint32_t left, std::uint32_t right) const;
  /// Whether merges are ranked by the token they make instead of listed.
  bool ranks_tokens() const { return ranks_.size() != 0; }
  std::uint32_t token_rank(std::uint32_t id) const {
    return id < ranks_.size() ? ranks_[id] : kNoRank;
  }
  /// The token of a byte, or kNoToken.
  std::uint32_t byte_token(unsigned char byte) const;

  const RecordArray<SpecialToken>& specials() const { return specials_; }
  const RecordArray<SpecialToken>& normalized_specials() const { return normalized_specials_; }
  /// Those inside the vocabulary.
  std::vector<std::int64_t> end_ids() const;
  /// Throws Error(kCorruptFile) where the section is cut short.
  std::vector<SplitStep> split_steps() const;

 private:
  std::span<const std::byte> section(RecordSection index, std::size_t item_size) const;
  template <typename T>
  RecordArray<T> array(RecordSection index) const;
  void verify_header() const;
  void verify_offsets() const;
  static void verify_buckets(const RecordArray<std::uint32_t>& buckets, std::size_t entries,
                             const char* name);

  std::span<const std::byte> record_;
  RecordHeader header_{};
  RecordArray<std::uint32_t> piece_offsets_, ranks_, piece_buckets_, piece_ids_, pair_buckets_,
      byte_tokens_;
  RecordArray<std::uint8_t> types_;
  RecordArray<MergePair> pairs_;
  RecordArray<SpecialToken> specials_, normalized_specials_;
  std::string_view piece_bytes_;
};

}  // namespace gumbel
