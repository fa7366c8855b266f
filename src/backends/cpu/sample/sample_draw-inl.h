// The winner of argmax(noise - surprisal) among a prefix of the ranking.
//
// Most tokens are ruled out by their top byte of noise, of which one Philox block holds 16: a token
// can win only if the bound of its byte beats the best score so far plus its surprisal. That is
// checked for a chunk at once with the surprisal of the chunk's best token; logits are read for the
// few bytes that pass, the low 24 bits drawn for the few tokens that still can win, and the noise
// computed for those whose whole word can.
#if defined(GUMBEL_SAMPLE_DRAW_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef GUMBEL_SAMPLE_DRAW_INL_H
#undef GUMBEL_SAMPLE_DRAW_INL_H
#else
#define GUMBEL_SAMPLE_DRAW_INL_H
#endif

#include "backends/cpu/sample/sample_mass-inl.h"

HWY_BEFORE_NAMESPACE();
namespace gumbel::cpu::HWY_NAMESPACE {

using CounterTag = hn::ScalableTag<uint64_t>;

/// Vectors of Philox blocks that run side by side: one alone waits for its products, and this many
/// fill a chunk on AVX2.
inline constexpr size_t kInterleaved = 4;

/// Philox with all but the first counter word fixed. Of the first two rounds little depends on that
/// word: with counter (x, position, stream, domain) and 64-bit products,
///   round 1: x * M0 = p gives words (a, b, hi(p) ^ domain ^ k1, lo(p)), where a and b are
///            hi(stream * M1) ^ position ^ k0 and lo(stream * M1);
///   round 2: a * M0 = q is fixed, and the third word times M1 = r gives words
///            (hi(r) ^ b ^ k0', lo(r), hi(q) ^ lo(p) ^ k1', lo(q)).
struct PhiloxDraw {
  uint64_t after1_word2;  // domain ^ k1
  uint64_t after2_word0;  // b ^ k0'
  uint64_t after2_word2;  // hi(q) ^ k1'
  uint64_t after2_word3;  // lo(q)
  std::array<std::array<uint64_t, 2>, kPhiloxRounds> round_keys;

  PhiloxDraw(const NoiseKey& key, uint32_t domain) {
    uint32_t k0 = static_cast<uint32_t>(key.seed);
    uint32_t k1 = static_cast<uint32_t>(key.seed >> 32);
    for (auto& round : round_keys) {
      round = {k0, k1};
      k0 += kPhiloxWeyl0;
      k1 += kPhiloxWeyl1;
    }
    const uint64_t p1 = uint64_t{kPhiloxMultiplier1} * key.stream;
    const uint32_t a = static_cast<uint32_t>((p1 >> 32) ^ key.position ^ round_keys[0][0]);
    const uint64_t q = uint64_t{kPhiloxMultiplier0} * a;
    after1_word2 = domain ^ round_keys[0][1];
    after2_word0 = static_cast<uint32_t>(p1) ^ round_keys[1][0];
    after2_word2 = (q >> 32) ^ round_keys[1][1];
    after2_word3 = q;
  }
};

/// The product of the low halves of every 64-bit lane.
template <class V>
HWY_INLINE V multiply_low_words(V a, V b) {
#if HWY_TARGET == HWY_SCALAR
  return hn::Set(CounterTag(), uint64_t{static_cast<uint32_t>(hn::GetLane(a))} *
                                   static_cast<uint32_t>(hn::GetLane(b)));
#else
  const hn::Repartition<uint32_t, CounterTag> words;
  return hn::MulEven(hn::BitCast(words, a), hn::BitCast(words, b));
#endif
}

/// philox4x32 of kBlocks vectors of first counter words, interleaved to hide latencies. Words are
/// the low halves of 64-bit lanes; the high halves hold leftovers, which the products ignore, so
/// nothing is masked. words[i][b] is word i of the blocks in vector b.
template <size_t kBlocks, class V>
HWY_INLINE void philox_blocks(const PhiloxDraw& draw, const V (&first)[kBlocks],
                              V (&words)[4][kBlocks]) {
  const CounterTag d;
  const V multiplier0 = hn::Set(d, uint64_t{kPhiloxMultiplier0});
  const V multiplier1 = hn::Set(d, uint64_t{kPhiloxMultiplier1});
  for (size_t b = 0; b < kBlocks; ++b) {
    const V p = multiply_low_words(first[b], multiplier0);
    const V word2 = hn::Xor(hn::ShiftRight<32>(p), hn::Set(d, draw.after1_word2));
    const V r = multiply_low_words(word2, multiplier1);
    words[0][b] = hn::Xor(hn::ShiftRight<32>(r), hn::Set(d, draw.after2_word0));
    words[1][b] = r;
    words[2][b] = hn::Xor(p, hn::Set(d, draw.after2_word2));
    words[3][b] = hn::Set(d, draw.after2_word3);
  }
  HWY_UNROLL(8)
  for (int round = 2; round < kPhiloxRounds; ++round) {
    const V k0 = hn::Set(d, draw.round_keys[round][0]);
    const V k1 = hn::Set(d, draw.round_keys[round][1]);
    for (size_t b = 0; b < kBlocks; ++b) {
      const V p0 = multiply_low_words(words[0][b], multiplier0);
      const V p1 = multiply_low_words(words[2][b], multiplier1);
      words[0][b] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), words[1][b]), k0);
      words[1][b] = p1;
      words[2][b] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), words[3][b]), k1);
      words[3][b] = p0;
    }
  }
}

/// Words a (low) and b (high) of every lane side by side.
template <class V>
HWY_INLINE V join_words(V a, V b) {
  const V low = hn::And(a, hn::Set(CounterTag(), uint64_t{0xFFFFFFFF}));
  return hn::Or(low, hn::ShiftLeft<32>(b));
}

/// The top bytes of a chunk's tokens, in order of their ids.
HWY_INLINE void draw_top_bytes(const PhiloxDraw& draw, size_t chunk, uint8_t* bytes) {
  const CounterTag d;
  using V = hn::VFromD<CounterTag>;
  constexpr size_t kBlocksOfChunk = kChunk / 16;
  constexpr size_t kVectors = std::min<size_t>(kInterleaved, kBlocksOfChunk / hn::MaxLanes(d));
  auto* out = reinterpret_cast<uint64_t*>(bytes);
  // Iota of a variable would be built through memory, and the load wait for its stores.
  const V count = hn::Iota(d, uint64_t{0});
  for (size_t block = 0; block < kBlocksOfChunk; block += kVectors * hn::Lanes(d)) {
    V first[kVectors], words[4][kVectors];
    for (size_t b = 0; b < kVectors; ++b)
      first[b] = hn::Add(count, hn::Set(d, chunk * kBlocksOfChunk + block + b * hn::Lanes(d)));
    philox_blocks<kVectors>(draw, first, words);
    for (size_t b = 0; b < kVectors; ++b)
      hn::StoreInterleaved2(join_words(words[0][b], words[1][b]),
                            join_words(words[2][b], words[3][b]), d,
                            out + 2 * (block + b * hn::Lanes(d)));
  }
}

/// One bit for every byte of a chunk that is at most `threshold`.
HWY_INLINE void find_at_most(const uint8_t* bytes, uint8_t threshold,
                             uint64_t (&bits)[kChunk / 64]) {
#if HWY_TARGET == HWY_SCALAR
  for (size_t word = 0; word < kChunk / 64; ++word) {
    bits[word] = 0;
    for (size_t i = 0; i < 64; ++i) bits[word] |= uint64_t{bytes[word * 64 + i] <= threshold} << i;
  }
#else
  const hn::ScalableTag<uint8_t> d;
  const auto most = hn::Set(d, threshold);
  auto* out = reinterpret_cast<uint8_t*>(bits);
  for (size_t i = 0; i < kChunk; i += hn::Lanes(d)) {
    const auto v = hn::Load(d, bytes + i);
    hn::StoreMaskBits(d, hn::Eq(hn::Min(v, most), v), out + i / 8);
  }
#endif
}

/// Tokens whose low 24 bits are drawn together.
inline constexpr size_t kBatch = 16;

/// Word (token & 3) of each token's block in kDomainLow.
HWY_INLINE void draw_low_words(const PhiloxDraw& draw, const uint64_t* tokens, uint64_t* low) {
  const CounterTag d;
  using V = hn::VFromD<CounterTag>;
  const V one = hn::Set(d, uint64_t{1}), two = hn::Set(d, uint64_t{2});
  for (size_t i = 0; i < kBatch; i += 2 * hn::Lanes(d)) {
    const V token[2] = {hn::Load(d, tokens + i), hn::Load(d, tokens + i + hn::Lanes(d))};
    const V first[2] = {hn::ShiftRight<2>(token[0]), hn::ShiftRight<2>(token[1])};
    V words[4][2];
    philox_blocks<2>(draw, first, words);
    for (size_t b = 0; b < 2; ++b) {
      const auto odd = hn::Eq(hn::And(token[b], one), one);
      const auto upper = hn::Eq(hn::And(token[b], two), two);
      const V word = hn::IfThenElse(upper, hn::IfThenElse(odd, words[3][b], words[2][b]),
                                    hn::IfThenElse(odd, words[1][b], words[0][b]));
      hn::Store(word, d, low + i + b * hn::Lanes(d));
    }
  }
}

/// A drawn token.
struct Winner {
  int64_t token = -1;
  int32_t key = 0;
  int32_t score = std::numeric_limits<int32_t>::min();
};

/// Tokens that may win, waiting until there are enough of them, and the winner so far.
class Contest {
 public:
  Contest(const Row& row, const Prefix& prefix, const SurprisalScale& s, const NoiseKey& key)
      : row_(row),
        prefix_(prefix),
        s_(s),
        key_(key),
        top_(key, kDomainTop),
        low_(key, kDomainLow) {}

  const Winner& winner() const { return winner_; }

  /// Enters the tokens of chunk c that may win by their top bytes.
  HWY_NOINLINE void enter_chunk(size_t c) {
    const int64_t needed = noise_needed(row_.scratch->surprisals[c]);
    if (!prefix_.reaches(row_.scratch->best_keys[c]) || kNoiseBoundOfByte[0] < needed) return;
    HWY_ALIGN uint8_t bytes[kChunk];
    uint64_t passed[kChunk / 64];
    draw_top_bytes(top_, c, bytes);
    find_at_most(bytes, largest_byte_reaching(needed), passed);
    for (size_t word = 0; word < kChunk / 64; ++word) {
      // Few tokens pass, and whether one does cannot be predicted: two are always written, and
      // count if they are there.
      uint64_t bits = passed[word];
      const auto count = static_cast<size_t>(std::popcount(bits));
      for (size_t i = 0; i < 2; ++i) {
        add(c, word * 64 + (static_cast<size_t>(std::countr_zero(bits)) & 63), bytes, i);
        bits &= bits - 1;
      }
      for (size_t i = 2; i < count; ++i) {
        add(c, word * 64 + static_cast<size_t>(std::countr_zero(bits)), bytes, i);
        bits &= bits - 1;
      }
      entries_ += count;
    }
    if (entries_ >= kBatch) settle();
  }

  /// Scores what has been entered.
  HWY_NOINLINE void settle() {
    size_t waiting = 0;
    for (size_t i = 0; i < entries_; ++i) {
      const Entry& entry = entry_[i];
      const size_t c = entry.token / kChunk;
      const int32_t token_key = rank_key(row_.chunk(c)[entry.token % kChunk]);
      const int32_t z = surprisal_q24(s_.best_key, token_key, s_.scale);
      tokens_[waiting] = entry.token;
      keys_[waiting] = token_key;
      surprisals_[waiting] = z;
      tops_[waiting] = entry.top;
      const bool kept = prefix_.keeps(token_key, entry.token);
      const bool may_win = kNoiseBoundOfByte[entry.top] >= noise_needed(z);
      waiting += static_cast<size_t>(kept) & static_cast<size_t>(may_win);
      if (waiting == kBatch) waiting = score(waiting);
    }
    score(waiting);
    entries_ = 0;
  }

 private:
  struct Entry {
    uint32_t token;
    uint8_t top;
  };

  /// The noise that a token of surprisal z needs in order to win or to tie. From -5.1 - 100 to
  /// 64.5 + 100, it exceeds int32.
  int64_t noise_needed(int32_t z) const { return int64_t{winner_.score} + z; }

  void add(size_t c, size_t i, const uint8_t* bytes, size_t offset) {
    entry_[entries_ + offset] = {static_cast<uint32_t>(c * kChunk + i), bytes[i]};
  }

  /// Draws the low bits of the first `waiting` tokens, and scores those whose word can win. Returns
  /// 0, the number that wait thereafter.
  size_t score(size_t waiting) {
    if (waiting == 0) return 0;
    std::fill(tokens_ + waiting, tokens_ + kBatch, 0);
    draw_low_words(low_, tokens_, words_);
    for (size_t i = 0; i < waiting; ++i) {
      const uint32_t word = (uint32_t{tops_[i]} << 24) | (static_cast<uint32_t>(words_[i]) >> 8);
      if (noise_bound(word) < noise_needed(surprisals_[i])) continue;
      const auto token = static_cast<uint32_t>(tokens_[i]);
      const int32_t token_score = gumbel_q24(token, word, key_) - surprisals_[i];
      // Chunks do not come in order: of equal scores, the lower id wins.
      if (token_score > winner_.score || (token_score == winner_.score && token < winner_.token))
        winner_ = {token, keys_[i], token_score};
    }
    return 0;
  }

  const Row& row_;
  Prefix prefix_;
  SurprisalScale s_;
  NoiseKey key_;
  PhiloxDraw top_;
  PhiloxDraw low_;
  Winner winner_;
  size_t entries_ = 0;
  // Below kBatch wait between chunks, a chunk adds kChunk, and two may be written that do not
  // count.
  Entry entry_[kBatch + kChunk + 2];
  HWY_ALIGN uint64_t tokens_[kBatch];
  HWY_ALIGN uint64_t words_[kBatch];
  int32_t keys_[kBatch];
  int32_t surprisals_[kBatch];
  uint8_t tops_[kBatch];
};

/// Fills scratch.surprisals with the surprisal of each chunk's best token.
HWY_INLINE void find_chunk_surprisals(const Row& row, const SurprisalScale& s) {
  const FloatTag d;
  const IntTag di;
  for (size_t c = 0; c < row.chunks; c += hn::Lanes(di)) {
    const auto keys = hn::LoadU(di, row.scratch->best_keys + c);
    // The bits of a key's logit: the sign bit, minus the negative key.
    const auto bits =
        hn::IfThenElse(hn::Lt(keys, hn::Zero(di)),
                       hn::Sub(hn::Set(di, static_cast<int32_t>(0x80000000u)), keys), keys);
    const auto z = hn::ConvertTo(di, surprisal_lanes(hn::BitCast(d, bits), s));
    hn::StoreU(z, di, row.scratch->surprisals + c);
  }
}

/// The winner among the tokens of `prefix`, which holds at least the best one.
/// find_chunk_surprisals() comes before.
HWY_INLINE Winner draw_among(const Row& row, const Prefix& prefix, const SurprisalScale& s,
                             const NoiseKey& key) {
  Contest contest(row, prefix, s, key);
  // The best token's chunk first: its score rules out most of the others.
  contest.enter_chunk(row.best_chunk);
  contest.settle();
  for (size_t c = 0; c < row.chunks; ++c)
    if (c != row.best_chunk) contest.enter_chunk(c);
  contest.settle();
  return contest.winner();
}

// NOLINTNEXTLINE(google-readability-namespace-comments)
}  // namespace gumbel::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
