#include "text/tokenizer_record.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "base/quote.h"
#include "text/byte_alphabet.h"
#include "text/normalize.h"
#include "text/record_layout.h"

namespace gumbel {
namespace {

using Words = std::vector<std::uint32_t>;

bool is_special(TokenType type) {
  return type == TokenType::kControl || type == TokenType::kUnknown ||
         type == TokenType::kUserDefined;
}

// Whether byte-pair encoding may give the token: what only control or fallback may give, text that
// spells its name must not.
bool is_mergeable(TokenType type) {
  return type == TokenType::kNormal || type == TokenType::kUserDefined ||
         type == TokenType::kUnused;
}

void check_id(const TokenizerDefinition& definition, std::int64_t id, const char* what) {
  if (id < 0 || id >= static_cast<std::int64_t>(definition.tokens.size())) {
    fail(ErrorCode::kCorruptFile, "tokenizer: {} {} is outside the vocabulary of {} tokens", what,
         id, definition.tokens.size());
  }
}

void check(const TokenizerDefinition& definition) {
  const std::size_t vocab = definition.tokens.size();
  if (vocab == 0 || vocab > kMaxVocabSize) {
    fail(ErrorCode::kCorruptFile, "tokenizer: expected 1 to {} tokens, got {}", kMaxVocabSize,
         vocab);
  }
  if (definition.types.size() != vocab) {
    fail(ErrorCode::kCorruptFile, "tokenizer: expected {} token types, got {}", vocab,
         definition.types.size());
  }
  if (!definition.scores.empty() && definition.scores.size() != vocab) {
    fail(ErrorCode::kCorruptFile, "tokenizer: expected {} scores, got {}", vocab,
         definition.scores.size());
  }
  const std::pair<std::int64_t, const char*> optional_ids[] = {
      {definition.bos_id, "BOS id"},
      {definition.eos_id, "EOS id"},
      {definition.unknown_id, "unknown id"}};
  for (const auto& [id, what] : optional_ids) {
    if (id != -1) check_id(definition, id, what);
  }
  for (const std::int64_t id : definition.end_ids) check_id(definition, id, "end-of-turn id");
  if ((definition.add_bos && definition.bos_id < 0) ||
      (definition.add_eos && definition.eos_id < 0)) {
    fail(ErrorCode::kCorruptFile,
         "tokenizer: BOS or EOS is to be added, but there is no such token");
  }
}

// What encoding compares with text; see record_layout.h.
std::vector<std::string> stored_pieces(const TokenizerDefinition& definition) {
  std::vector<std::string> pieces = definition.tokens;
  if (definition.kind == TokenizerKind::kByteLevel) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (is_special(definition.types[i])) continue;
      if (auto bytes = bytes_of_spelling(pieces[i])) pieces[i] = std::move(*bytes);
    }
  }
  return pieces;
}

// Bucket starts and the order of entries 0..n−1, bucket by bucket, ascending within each.
struct Buckets {
  Words starts;
  Words order;
};

Buckets make_buckets(std::span<const std::uint64_t> hashes, const char* what) {
  const std::size_t count = std::bit_ceil(std::max<std::size_t>(hashes.size(), 1));
  Buckets buckets{Words(count + 1), Words(hashes.size())};
  for (const std::uint64_t hash : hashes) ++buckets.starts[(hash & (count - 1)) + 1];
  if (*std::max_element(buckets.starts.begin(), buckets.starts.end()) > kMaxBucket) {
    fail(ErrorCode::kCorruptFile, "tokenizer: more than {} {} share one hash", kMaxBucket, what);
  }
  for (std::size_t i = 0; i < count; ++i) buckets.starts[i + 1] += buckets.starts[i];
  Words next(buckets.starts.begin(), buckets.starts.end() - 1);
  for (std::uint32_t i = 0; i < hashes.size(); ++i) {
    buckets.order[next[hashes[i] & (count - 1)]++] = i;
  }
  return buckets;
}

// Ranks scores: 0 is the highest, equal scores share a rank, tokens that merging must not make have
// kNoRank.
Words token_ranks(const TokenizerDefinition& definition) {
  std::vector<float> distinct = definition.scores;
  if (std::any_of(distinct.begin(), distinct.end(), [](float s) { return std::isnan(s); })) {
    fail(ErrorCode::kCorruptFile, "tokenizer: a score is not a number");
  }
  std::sort(distinct.begin(), distinct.end(), std::greater<>());
  distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
  Words ranks(definition.tokens.size(), kNoRank);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (!is_mergeable(definition.types[i])) continue;
    const auto place =
        std::lower_bound(distinct.begin(), distinct.end(), definition.scores[i], std::greater<>());
    ranks[i] = static_cast<std::uint32_t>(place - distinct.begin());
  }
  return ranks;
}

// The merges by ids. Of a pair that occurs twice, the first counts; a merge that would make a
// control token is left out.
std::vector<MergePair> merge_pairs(const TokenizerDefinition& definition) {
  std::unordered_map<std::string_view, std::uint32_t> ids;
  ids.reserve(definition.tokens.size());
  for (std::uint32_t i = 0; i < definition.tokens.size(); ++i) ids[definition.tokens[i]] = i;
  std::unordered_map<std::uint64_t, bool> seen;
  seen.reserve(definition.merges.size());
  std::vector<MergePair> pairs;
  pairs.reserve(definition.merges.size());
  for (std::size_t rank = 0; rank < definition.merges.size(); ++rank) {
    const auto& [left, right] = definition.merges[rank];
    const std::string merged = left + right;
    const auto find = [&](const std::string& spelling) {
      const auto found = ids.find(spelling);
      if (found == ids.end()) {
        fail(ErrorCode::kCorruptFile, "tokenizer: merge {} needs {}, which is no token", rank,
             quote(spelling));
      }
      return found->second;
    };
    const MergePair pair{find(left), find(right), static_cast<std::uint32_t>(rank), find(merged)};
    const TokenType type = definition.types[pair.merged];
    if (type == TokenType::kControl || type == TokenType::kUnknown) continue;
    if (!seen.emplace(std::uint64_t{pair.left} << 32 | pair.right, true).second) continue;
    pairs.push_back(pair);
  }
  return pairs;
}

// The ids that looking up a piece can give. Of equal pieces, a normal token goes before others, and
// then the last before the earlier ones.
Words piece_ids(const TokenizerDefinition& definition, const std::vector<std::string>& pieces) {
  std::unordered_map<std::string_view, std::uint32_t> chosen;
  chosen.reserve(pieces.size());
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    if (!is_mergeable(definition.types[i]) || pieces[i].empty()) continue;
    const auto [place, added] = chosen.emplace(pieces[i], i);
    if (!added && (definition.types[i] == TokenType::kNormal ||
                   definition.types[place->second] != TokenType::kNormal)) {
      place->second = i;
    }
  }
  Words ids;
  ids.reserve(chosen.size());
  for (const auto& [piece, id] : chosen) ids.push_back(id);
  std::sort(ids.begin(), ids.end());
  return ids;
}

Words byte_tokens(const TokenizerDefinition& definition, const std::vector<std::string>& pieces) {
  Words tokens(256, kNoToken);
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    const TokenType type = definition.types[i];
    if (definition.kind == TokenizerKind::kByteLevel) {
      if (type == TokenType::kNormal && pieces[i].size() == 1) {
        tokens[static_cast<unsigned char>(pieces[i][0])] = i;
      }
    } else if (type == TokenType::kByte) {
      const auto byte = byte_of_spelling(pieces[i]);
      if (!byte) {
        fail(ErrorCode::kCorruptFile,
             "tokenizer: byte token {} is spelt {}, expected <0x00> to <0xFF>", i,
             quote(pieces[i]));
      }
      tokens[*byte] = i;
    }
  }
  return tokens;
}

struct Specials {
  std::vector<SpecialToken> plain, normalized;
};

Specials special_tokens(const TokenizerDefinition& definition,
                        const std::vector<std::string>& pieces) {
  std::unordered_map<std::int64_t, TokenMatching> matching;
  for (const TokenMatching& entry : definition.matching) {
    check_id(definition, entry.id, "matching rule for id");
    matching[entry.id] = entry;
  }
  Specials specials;
  for (std::uint32_t i = 0; i < pieces.size(); ++i) {
    const TokenType type = definition.types[i];
    if (!is_special(type) || pieces[i].empty()) continue;
    if (pieces[i].size() > kMaxSpecialLength) {
      fail(ErrorCode::kUnsupported,
           "tokenizer: control token {} has {} bytes, at most {} are supported", i,
           pieces[i].size(), kMaxSpecialLength);
    }
    const auto rule = matching.find(i);
    const TokenMatching how = rule == matching.end() ? TokenMatching{} : rule->second;
    SpecialToken token{i, 0};
    if (type != TokenType::kUserDefined) token.flags |= kSpecialControl;
    if (how.strip_left) token.flags |= kSpecialStripLeft;
    if (how.strip_right) token.flags |= kSpecialStripRight;
    (how.normalized ? specials.normalized : specials.plain).push_back(token);
  }
  // Of equal names the last is kept.
  for (auto* list : {&specials.plain, &specials.normalized}) {
    std::sort(list->begin(), list->end(), [&](const SpecialToken& a, const SpecialToken& b) {
      const int order = pieces[a.id].compare(pieces[b.id]);
      return order != 0 ? order < 0 : a.id > b.id;
    });
    list->erase(std::unique(list->begin(), list->end(),
                            [&](const SpecialToken& a, const SpecialToken& b) {
                              return pieces[a.id] == pieces[b.id];
                            }),
                list->end());
  }
  return specials;
}

class RecordWriter {
 public:
  RecordWriter() : bytes_(sizeof(RecordHeader)) {}

  template <typename T>
  void add(RecordSection index, const std::vector<T>& items) {
    add_bytes(index, std::as_bytes(std::span(items)));
  }
  void add(RecordSection index, std::string_view text) {
    add_bytes(index, std::as_bytes(std::span(text.data(), text.size())));
  }

  std::vector<std::byte> finish() {
    std::memcpy(bytes_.data(), &header, sizeof(header));
    return std::move(bytes_);
  }

  RecordHeader header{};

 private:
  void add_bytes(RecordSection index, std::span<const std::byte> section) {
    bytes_.resize((bytes_.size() + 3) / 4 * 4);
    if (bytes_.size() + section.size() > std::numeric_limits<std::uint32_t>::max()) {
      fail(ErrorCode::kUnsupported, "tokenizer: its record would have 4 GiB or more");
    }
    header.sections[index] = {static_cast<std::uint32_t>(bytes_.size()),
                              static_cast<std::uint32_t>(section.size())};
    bytes_.insert(bytes_.end(), section.begin(), section.end());
  }

  std::vector<std::byte> bytes_;
};

void fill_header(const TokenizerDefinition& definition, RecordHeader& header) {
  const auto stored_id = [](std::int64_t id) { return static_cast<std::uint32_t>(id); };
  static_assert(static_cast<std::uint32_t>(-1) == kNoToken);
  std::memcpy(header.magic, kRecordMagic, sizeof(kRecordMagic));
  header.version = kRecordVersion;
  header.kind = static_cast<std::uint32_t>(definition.kind);
  header.normalization = static_cast<std::uint32_t>(definition.normalization);
  header.space_prefix = static_cast<std::uint32_t>(definition.space_prefix);
  header.vocab_size = static_cast<std::uint32_t>(definition.tokens.size());
  header.bos_id = stored_id(definition.bos_id);
  header.eos_id = stored_id(definition.eos_id);
  header.unknown_id = stored_id(definition.unknown_id);
  const std::pair<bool, RecordFlag> flags[] = {
      {definition.decode_strips_prefix, kFlagDecodeStripsPrefix},
      {definition.spaces_in_all_tokens, kFlagSpacesInAllTokens},
      {definition.ignore_merges, kFlagIgnoreMerges},
      {definition.byte_fallback, kFlagByteFallback},
      {definition.fuse_unknown, kFlagFuseUnknown},
      {definition.add_bos, kFlagAddBos},
      {definition.add_eos, kFlagAddEos},
  };
  for (const auto& [set, flag] : flags) header.flags |= set ? flag : 0u;
}

std::string split_steps(const TokenizerDefinition& definition) {
  std::string bytes;
  for (const SplitStep& step : definition.pre_tokenizer) {
    const auto length = static_cast<std::uint32_t>(step.pattern.size());
    bytes += static_cast<char>(step.behavior);
    bytes += step.invert ? '\1' : '\0';
    bytes.append(reinterpret_cast<const char*>(&length), sizeof(length));
    bytes += step.pattern;
  }
  return bytes;
}

}  // namespace

std::vector<std::byte> serialize_tokenizer(const TokenizerDefinition& definition) {
  check(definition);
  const std::vector<std::string> pieces = stored_pieces(definition);

  RecordWriter writer;
  fill_header(definition, writer.header);

  Words offsets = {0};
  std::string piece_bytes;
  for (const std::string& piece : pieces) {
    piece_bytes += piece;
    if (piece_bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
      fail(ErrorCode::kUnsupported, "tokenizer: its tokens have 4 GiB or more");
    }
    offsets.push_back(static_cast<std::uint32_t>(piece_bytes.size()));
  }
  writer.add(kPieceOffsets, offsets);
  writer.add(kPieceBytes, piece_bytes);
  writer.add(kTokenTypes, definition.types);

  const bool by_score = definition.kind == TokenizerKind::kSentencePiece &&
                        definition.merges.empty() && !definition.scores.empty();
  writer.add(kTokenRanks, by_score ? token_ranks(definition) : Words{});

  const Words lookups = piece_ids(definition, pieces);
  std::vector<std::uint64_t> hashes;
  for (const std::uint32_t id : lookups) {
    const std::string& piece = pieces[id];
    if (piece.size() > kMaxPieceLength) {
      fail(ErrorCode::kUnsupported, "tokenizer: token {} has {} bytes, at most {} are supported",
           id, piece.size(), kMaxPieceLength);
    }
    writer.header.max_piece =
        std::max(writer.header.max_piece, static_cast<std::uint32_t>(piece.size()));
    hashes.push_back(hash_bytes(piece));
  }
  const Buckets piece_buckets = make_buckets(hashes, "pieces");
  Words ordered_ids;
  for (const std::uint32_t i : piece_buckets.order) ordered_ids.push_back(lookups[i]);
  writer.add(kPieceBuckets, piece_buckets.starts);
  writer.add(kPieceIds, ordered_ids);

  const std::vector<MergePair> pairs =
      by_score ? std::vector<MergePair>{} : merge_pairs(definition);
  hashes.clear();
  for (const MergePair& pair : pairs) hashes.push_back(hash_pair(pair.left, pair.right));
  const Buckets pair_buckets = make_buckets(hashes, "merges");
  std::vector<MergePair> ordered_pairs;
  for (const std::uint32_t i : pair_buckets.order) ordered_pairs.push_back(pairs[i]);
  writer.add(kPairBuckets, pair_buckets.starts);
  writer.add(kPairs, ordered_pairs);

  writer.add(kByteTokens, byte_tokens(definition, pieces));
  const Specials specials = special_tokens(definition, pieces);
  writer.add(kSpecials, specials.plain);
  writer.add(kNormalizedSpecials, specials.normalized);

  Words end_ids;
  for (const std::int64_t id : definition.end_ids)
    end_ids.push_back(static_cast<std::uint32_t>(id));
  std::sort(end_ids.begin(), end_ids.end());
  end_ids.erase(std::unique(end_ids.begin(), end_ids.end()), end_ids.end());
  writer.add(kEndIds, end_ids);
  writer.add(kSplitSteps, split_steps(definition));
  return writer.finish();
}

}  // namespace gumbel
