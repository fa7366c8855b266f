// The layout of a tokenizer's record.
//
// A header, then sections at multiples of 4 bytes. All numbers are little-endian; a record may lie
// at any address. Pieces are stored as encoding compares them with text: the bytes themselves for
// byte-level tokens, the vocabulary's spelling ("▁the", "<0x41>") for SentencePiece ones.
//
// Two hash tables answer encoding's questions in place. Each is an array of bucket starts (a power
// of two of buckets, and one start more, which is the number of entries) and the entries, bucket by
// bucket; no bucket holds more than kMaxBucket.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace gumbel {

static_assert(std::endian::native == std::endian::little, "records are read in place");

enum RecordSection : std::uint32_t {
  kPieceOffsets,        ///< u32 [V + 1]: token i is bytes [i], up to [i + 1], of kPieceBytes.
  kPieceBytes,          ///< u8
  kTokenTypes,          ///< u8 [V]: TokenType
  kTokenRanks,          ///< u32 [V] or empty: rank of the merge that makes token i (scores).
  kPieceBuckets,        ///< u32: buckets of pieces by hash_bytes().
  kPieceIds,            ///< u32: ids that byte-pair encoding can give.
  kPairBuckets,         ///< u32: buckets of pairs by hash_pair().
  kPairs,               ///< MergePair: the merges, unless ranked by token.
  kByteTokens,          ///< u32 [256]: the token of each byte, or kNoToken.
  kSpecials,            ///< SpecialToken, by their bytes ascending: found before normalization.
  kNormalizedSpecials,  ///< The same, found after it.
  kEndIds,              ///< u32, ascending.
  kSplitSteps,          ///< For each step u8 behavior, u8 invert, u32 length, pattern.
  kSectionCount,
};

struct RecordHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t kind;           ///< TokenizerKind
  std::uint32_t normalization;  ///< Normalization
  std::uint32_t space_prefix;   ///< SpacePrefix
  std::uint32_t flags;          ///< RecordFlag
  std::uint32_t vocab_size;
  std::uint32_t max_piece;  ///< Bytes of the longest piece in kPieceIds.
  std::uint32_t bos_id;     ///< kNoToken: none. So for the others.
  std::uint32_t eos_id;
  std::uint32_t unknown_id;
  struct {
    std::uint32_t offset;  ///< From the start of the record.
    std::uint32_t size;    ///< In bytes.
  } sections[kSectionCount];
};

enum RecordFlag : std::uint32_t {
  kFlagDecodeStripsPrefix = 1,
  kFlagSpacesInAllTokens = 2,
  kFlagIgnoreMerges = 4,
  kFlagByteFallback = 8,
  kFlagFuseUnknown = 16,
  kFlagAddBos = 32,
  kFlagAddEos = 64,
};

/// The pair (left, right) becomes `merged`; the lowest rank merges first.
struct MergePair {
  std::uint32_t left, right, rank, merged;
};

struct SpecialToken {
  std::uint32_t id;
  std::uint32_t flags;  ///< SpecialFlag
};

enum SpecialFlag : std::uint32_t {
  kSpecialControl = 1,  ///< Found only where control tokens are parsed.
  kSpecialStripLeft = 2,
  kSpecialStripRight = 4,
};

inline constexpr char kRecordMagic[8] = {'G', 'U', 'M', 'B', 'L', 'T', 'O', 'K'};
inline constexpr std::uint32_t kRecordVersion = 1;
inline constexpr std::uint32_t kNoToken = 0xFFFFFFFF;
inline constexpr std::uint32_t kNoRank = 0xFFFFFFFF;
/// With at least as many buckets as entries, the fullest of a million random ones holds about 10.
inline constexpr std::uint32_t kMaxBucket = 32;
/// Bounds the work of looking for a piece; the longest in use have a few hundred bytes.
inline constexpr std::uint32_t kMaxPieceLength = 4096;
/// Bounds the work of looking for special tokens at one position of a text.
inline constexpr std::uint32_t kMaxSpecialLength = 1024;
/// Larger vocabularies are refused; the largest in use have under a million tokens.
inline constexpr std::uint32_t kMaxVocabSize = 1u << 24;

/// The finalizer of MurmurHash3: every bit of `x` changes half the bits of the result.
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x = (x ^ x >> 33) * 0xFF51AFD7ED558CCDu;
  x = (x ^ x >> 33) * 0xC4CEB9FE1A85EC53u;
  return x ^ x >> 33;
}

/// FNV-1a, mixed.
constexpr std::uint64_t hash_bytes(std::string_view bytes) {
  std::uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return mix_bits(hash);
}

constexpr std::uint64_t hash_pair(std::uint32_t left, std::uint32_t right) {
  return mix_bits(std::uint64_t{left} << 32 | right);
}

}  // namespace gumbel
