#include "text/tokenizer.h"

#include <algorithm>

#include "base/error.h"
#include "base/utf8.h"
#include "text/bpe.h"
#include "text/byte_alphabet.h"
#include "text/detokenizer.h"
#include "text/normalize.h"
#include "text/pre_tokenizer.h"
#include "text/record_view.h"
#include "text/special_matcher.h"

namespace gumbel {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // "▁", U+2581

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t done = 0;
  for (std::size_t at; (at = text.find(from, done)) != std::string::npos; done = at + from.size()) {
    out.append(text, done, at - done).append(to);
  }
  text = out.append(text, done);
}

std::int64_t public_id(std::uint32_t id) { return id == kNoToken ? -1 : std::int64_t{id}; }

// Where in a joined text control tokens are parsed: up to each end, by turns or as given.
struct ControlRange {
  std::size_t end;
  ControlTokens control;
};

// Whether a match may stand where it was found; see Tokenizer::encode(segments).
bool is_allowed(const std::vector<ControlRange>& ranges, const SpecialMatcher::Match& match) {
  const auto range_at = [&](std::size_t position) {
    return std::upper_bound(ranges.begin(), ranges.end(), position,
                            [](std::size_t p, const ControlRange& range) { return p < range.end; });
  };
  const auto first = range_at(match.begin);
  const auto last = range_at(match.end - 1);
  if (match.token.flags & kSpecialControl) {
    return first == last && first->control == ControlTokens::kParse;
  }
  return first->control == ControlTokens::kParse || last->control == ControlTokens::kPlain;
}

// Moves `begin` back over white space, not before `limit`.
std::size_t strip_left(std::string_view text, std::size_t begin, std::size_t limit) {
  while (begin > limit) {
    std::size_t start = begin - 1;
    while (start > limit && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    if (!is_white_space(read_utf8(text.substr(start)).character)) break;
    begin = start;
  }
  return begin;
}

std::size_t strip_right(std::string_view text, std::size_t end) {
  while (end < text.size()) {
    const Utf8Step step = read_utf8(text.substr(end));
    if (!is_white_space(step.character)) break;
    end += step.length;
  }
  return end;
}

}  // namespace

struct Tokenizer::State {
  explicit State(std::span<const std::byte> bytes)
      : record(bytes),
        pre_tokenizer(record.split_steps()),
        specials(record, record.specials()),
        normalized_specials(record, record.normalized_specials()),
        end_ids(record.end_ids()) {}

  std::uint32_t checked(std::int64_t id) const {
    if (id < 0 || id >= record.vocab_size()) {
      fail(ErrorCode::kInvalidArgument, "token id {} is outside the vocabulary of {} tokens", id,
           record.vocab_size());
    }
    return static_cast<std::uint32_t>(id);
  }

  // Spells a stretch of text the way byte-pair encoding reads it.
  std::string normalize(std::string_view stretch, bool is_first) const;

  // Calls on_text(stretch) and on_token(id) for what `matcher` makes of `text`, in order.
  template <typename OnText, typename OnToken>
  static void divide(const SpecialMatcher& matcher, std::string_view text,
                     const std::vector<ControlRange>& ranges, const OnText& on_text,
                     const OnToken& on_token);

  RecordView record;
  PreTokenizer pre_tokenizer;
  SpecialMatcher specials, normalized_specials;
  std::vector<std::int64_t> end_ids;
};

std::string Tokenizer::State::normalize(std::string_view stretch, bool is_first) const {
  std::string text(stretch);
  if (static_cast<Normalization>(record.header().normalization) == Normalization::kNfc) {
    text = normalize_nfc(stretch);
  }
  const auto prefix = static_cast<SpacePrefix>(record.header().space_prefix);
  const bool has_space = text.starts_with(' ') || (record.kind() == TokenizerKind::kSentencePiece &&
                                                   text.starts_with(kSpaceMark));
  if (prefix == SpacePrefix::kAlways ||
      (prefix == SpacePrefix::kEveryStretchUnlessSpace && !has_space) ||
      (prefix == SpacePrefix::kFirstUnlessSpace && is_first && !has_space)) {
    text.insert(0, 1, ' ');
  }
  if (record.kind() == TokenizerKind::kSentencePiece) replace_all(text, " ", kSpaceMark);
  return text;
}

template <typename OnText, typename OnToken>
void Tokenizer::State::divide(const SpecialMatcher& matcher, std::string_view text,
                              const std::vector<ControlRange>& ranges, const OnText& on_text,
                              const OnToken& on_token) {
  const auto allowed = [&](const SpecialMatcher::Match& match) {
    return is_allowed(ranges, match);
  };
  std::size_t done = 0;
  while (const auto match = matcher.find(text, done, allowed)) {
    const bool left = (match->token.flags & kSpecialStripLeft) != 0;
    const std::size_t begin = left ? strip_left(text, match->begin, done) : match->begin;
    if (begin > done) on_text(done, text.substr(done, begin - done));
    on_token(match->token.id);
    const bool right = (match->token.flags & kSpecialStripRight) != 0;
    done = right ? strip_right(text, match->end) : match->end;
  }
  if (done < text.size()) on_text(done, text.substr(done));
}

Tokenizer::Tokenizer(std::span<const std::byte> record)
    : state_(std::make_unique<const State>(record)) {}
Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

TokenizerKind Tokenizer::kind() const { return state_->record.kind(); }
std::int64_t Tokenizer::vocab_size() const { return state_->record.vocab_size(); }
std::int64_t Tokenizer::bos_id() const { return public_id(state_->record.header().bos_id); }
std::int64_t Tokenizer::eos_id() const { return public_id(state_->record.header().eos_id); }
const std::vector<std::int64_t>& Tokenizer::end_ids() const { return state_->end_ids; }
bool Tokenizer::adds_bos() const { return state_->record.has(kFlagAddBos) && bos_id() >= 0; }
bool Tokenizer::adds_eos() const { return state_->record.has(kFlagAddEos) && eos_id() >= 0; }
bool Tokenizer::decode_strips_prefix() const { return state_->record.has(kFlagDecodeStripsPrefix); }

std::vector<std::int64_t> Tokenizer::encode(std::string_view text, ControlTokens control) const {
  const TextSegment segment{text, control};
  return encode(std::span(&segment, 1));
}

std::vector<std::int64_t> Tokenizer::encode(std::span<const TextSegment> segments) const {
  std::string joined;
  std::vector<ControlRange> ranges;
  for (const TextSegment& segment : segments) {
    joined += replace_invalid_utf8(segment.text);
    ranges.push_back({joined.size(), segment.control});
  }
  constexpr std::size_t kMaxText = std::size_t{1} << 29;  // normalized, still within 31 bits
  if (joined.size() > kMaxText) {
    fail(ErrorCode::kInvalidArgument, "expected at most {} bytes of text, got {}", kMaxText,
         joined.size());
  }

  std::vector<std::int64_t> ids;
  BytePairEncoder encoder(state_->record);
  const auto add_token = [&](std::uint32_t id) {
    if (id < state_->record.vocab_size()) ids.push_back(id);
  };
  const auto add_normalized = [&](std::size_t, std::string_view text) {
    for (const auto [begin, end] : state_->pre_tokenizer.split(text)) {
      encoder.append(text.substr(begin, end - begin), ids);
    }
  };
  const auto add_stretch = [&](std::size_t begin, std::string_view stretch) {
    const std::string text = state_->normalize(stretch, begin == 0);
    if (state_->normalized_specials.empty()) return add_normalized(0, text);
    // After normalization places no longer correspond, so the stretch is parsed only if all of it
    // is.
    const bool parse = std::all_of(ranges.begin(), ranges.end(), [&](const ControlRange& range) {
      const std::size_t range_begin = &range == ranges.data() ? 0 : (&range - 1)->end;
      const bool overlaps = range_begin < begin + stretch.size() && begin < range.end;
      return !overlaps || range.control == ControlTokens::kParse;
    });
    const std::vector<ControlRange> whole = {
        {text.size(), parse ? ControlTokens::kParse : ControlTokens::kPlain}};
    State::divide(state_->normalized_specials, text, whole, add_normalized, add_token);
  };
  State::divide(state_->specials, joined, ranges, add_stretch, add_token);
  return ids;
}

std::vector<std::int64_t> Tokenizer::encode_prompt(std::string_view text,
                                                   ControlTokens control) const {
  std::vector<std::int64_t> ids = encode(text, control);
  if (adds_bos()) ids.insert(ids.begin(), bos_id());
  if (adds_eos()) ids.push_back(eos_id());
  return ids;
}

std::string Tokenizer::decode(std::span<const std::int64_t> ids, bool show_control) const {
  Detokenizer detokenizer(*this, {.show_control = show_control, .at_text_start = true});
  std::string text;
  for (const std::int64_t id : ids) text += detokenizer.add(id);
  return text + detokenizer.finish();
}

std::string Tokenizer::piece(std::int64_t id) const {
  const RecordView& record = state_->record;
  const std::uint32_t token = state_->checked(id);
  std::string bytes(record.piece(token));
  if (record.kind() != TokenizerKind::kSentencePiece) return bytes;
  if (record.type(token) == TokenType::kByte) {
    const auto byte = byte_of_spelling(bytes);
    return byte ? std::string(1, static_cast<char>(*byte)) : bytes;
  }
  if (record.type(token) == TokenType::kNormal || record.has(kFlagSpacesInAllTokens)) {
    replace_all(bytes, kSpaceMark, " ");
  }
  return bytes;
}

TokenType Tokenizer::type(std::int64_t id) const {
  return state_->record.type(state_->checked(id));
}

std::optional<std::int64_t> Tokenizer::token_id(std::string_view text) const {
  std::uint32_t id = state_->specials.find_name(text);
  if (id == kNoToken) id = state_->normalized_specials.find_name(text);
  if (id == kNoToken) {
    std::string piece(text);
    if (kind() == TokenizerKind::kSentencePiece) replace_all(piece, " ", kSpaceMark);
    id = state_->record.find_piece(piece);
  }
  if (id >= state_->record.vocab_size()) return {};
  return id;
}

}  // namespace gumbel
