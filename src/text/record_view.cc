#include "text/record_view.h"

#include "base/error.h"

namespace gumbel {
namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

RecordView::RecordView(std::span<const std::byte> record) : record_(record) {
  if (record.size() < sizeof(RecordHeader)) {
    fail(ErrorCode::kCorruptFile, "tokenizer record: expected at least {} bytes, got {}",
         sizeof(RecordHeader), record.size());
  }
  std::memcpy(&header_, record.data(), sizeof(RecordHeader));
  verify_header();
  piece_offsets_ = array<std::uint32_t>(kPieceOffsets);
  piece_bytes_ = as_text(section(kPieceBytes, 1));
  types_ = array<std::uint8_t>(kTokenTypes);
  ranks_ = array<std::uint32_t>(kTokenRanks);
  piece_buckets_ = array<std::uint32_t>(kPieceBuckets);
  piece_ids_ = array<std::uint32_t>(kPieceIds);
  pair_buckets_ = array<std::uint32_t>(kPairBuckets);
  pairs_ = array<MergePair>(kPairs);
  byte_tokens_ = array<std::uint32_t>(kByteTokens);
  specials_ = array<SpecialToken>(kSpecials);
  normalized_specials_ = array<SpecialToken>(kNormalizedSpecials);
  verify_offsets();
  verify_buckets(piece_buckets_, piece_ids_.size(), "pieces");
  verify_buckets(pair_buckets_, pairs_.size(), "pairs");
}

void RecordView::verify_header() const {
  if (std::memcmp(header_.magic, kRecordMagic, sizeof(kRecordMagic)) != 0) {
    fail(ErrorCode::kCorruptFile, "tokenizer record: the first bytes are not those of a record");
  }
  if (header_.version != kRecordVersion) {
    fail(ErrorCode::kUnsupported, "tokenizer record: expected version {}, got {}", kRecordVersion,
         header_.version);
  }
  const auto bad_id = [&](std::uint32_t id) { return id != kNoToken && id >= header_.vocab_size; };
  if (header_.kind > 1 || header_.normalization > 1 || header_.space_prefix > 3 ||
      header_.vocab_size == 0 || header_.vocab_size > kMaxVocabSize ||
      header_.max_piece > kMaxPieceLength || bad_id(header_.bos_id) || bad_id(header_.eos_id) ||
      bad_id(header_.unknown_id)) {
    fail(ErrorCode::kCorruptFile, "tokenizer record: a field of the header is out of range");
  }
}

std::span<const std::byte> RecordView::section(RecordSection index, std::size_t item_size) const {
  const auto [offset, size] = header_.sections[index];
  if (offset > record_.size() || size > record_.size() - offset || size % item_size != 0) {
    fail(ErrorCode::kCorruptFile,
         "tokenizer record: section {} ({} bytes at {}) does not fit the record's {} bytes",
         static_cast<std::uint32_t>(index), size, offset, record_.size());
  }
  return record_.subspan(offset, size);
}

template <typename T>
RecordArray<T> RecordView::array(RecordSection index) const {
  const auto bytes = section(index, sizeof(T));
  return RecordArray<T>(bytes.data(), bytes.size() / sizeof(T));
}

void RecordView::verify_offsets() const {
  const std::size_t vocab = header_.vocab_size;
  bool valid = piece_offsets_.size() == vocab + 1 && types_.size() == vocab &&
               (ranks_.size() == 0 || ranks_.size() == vocab) && byte_tokens_.size() == 256 &&
               piece_offsets_[0] == 0 && piece_offsets_[vocab] == piece_bytes_.size();
  for (std::size_t i = 0; valid && i < vocab; ++i) {
    valid = piece_offsets_[i] <= piece_offsets_[i + 1];
  }
  if (!valid) {
    fail(ErrorCode::kCorruptFile, "tokenizer record: sections disagree with {} tokens", vocab);
  }
}

void RecordView::verify_buckets(const RecordArray<std::uint32_t>& buckets, std::size_t entries,
                                const char* name) {
  bool valid = buckets.size() >= 2 && std::has_single_bit(buckets.size() - 1) && buckets[0] == 0 &&
               buckets[buckets.size() - 1] == entries;
  std::uint32_t begin = 0;
  for (std::size_t i = 1; valid && i < buckets.size(); ++i) {
    const std::uint32_t end = buckets[i];
    valid = begin <= end && end - begin <= kMaxBucket;
    begin = end;
  }
  if (!valid) {
    fail(ErrorCode::kCorruptFile, "tokenizer record: the hash table of {} is damaged", name);
  }
}

std::string_view RecordView::piece(std::uint32_t id) const {
  if (id >= header_.vocab_size) return {};
  const std::uint32_t begin = piece_offsets_[id];
  return piece_bytes_.substr(begin, piece_offsets_[id + 1] - begin);
}

std::uint32_t RecordView::find_piece(std::string_view bytes) const {
  if (bytes.size() > header_.max_piece) return kNoToken;
  const std::size_t bucket = hash_bytes(bytes) & (piece_buckets_.size() - 2);
  for (std::uint32_t i = piece_buckets_[bucket]; i < piece_buckets_[bucket + 1]; ++i) {
    const std::uint32_t id = piece_ids_[i];
    if (id < header_.vocab_size && piece(id) == bytes) return id;
  }
  return kNoToken;
}

std::optional<MergePair> RecordView::find_pair(std::uint32_t left, std::uint32_t right) const {
  const std::size_t bucket = hash_pair(left, right) & (pair_buckets_.size() - 2);
  for (std::uint32_t i = pair_buckets_[bucket]; i < pair_buckets_[bucket + 1]; ++i) {
    const MergePair pair = pairs_[i];
    if (pair.left == left && pair.right == right && pair.merged < header_.vocab_size) return pair;
  }
  return {};
}

std::uint32_t RecordView::byte_token(unsigned char byte) const {
  const std::uint32_t id = byte_tokens_[byte];
  return id < header_.vocab_size ? id : kNoToken;
}

std::vector<std::int64_t> RecordView::end_ids() const {
  const auto stored = array<std::uint32_t>(kEndIds);
  std::vector<std::int64_t> ids;
  for (std::size_t i = 0; i < stored.size(); ++i) {
    if (stored[i] < header_.vocab_size) ids.push_back(stored[i]);
  }
  return ids;
}

std::vector<SplitStep> RecordView::split_steps() const {
  std::string_view bytes = as_text(section(kSplitSteps, 1));
  std::vector<SplitStep> steps;
  while (!bytes.empty()) {
    constexpr std::size_t kFixed = 2 + sizeof(std::uint32_t);
    std::uint32_t length = 0;
    if (bytes.size() >= kFixed) std::memcpy(&length, bytes.data() + 2, sizeof(length));
    if (bytes.size() < kFixed || length > bytes.size() - kFixed ||
        static_cast<unsigned char>(bytes[0]) > 4) {
      fail(ErrorCode::kCorruptFile, "tokenizer record: pre-tokenizer step {} is damaged",
           steps.size());
    }
    steps.push_back({std::string(bytes.substr(kFixed, length)),
                     static_cast<SplitBehavior>(bytes[0]), bytes[1] != 0});
    bytes.remove_prefix(kFixed + length);
  }
  return steps;
}

}  // namespace gumbel
