// What a tokenizer is, as plain data: what importers fill in and what a record is made from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gumbel {

/// How text becomes the first symbols of byte-pair encoding.
enum class TokenizerKind : std::uint8_t {
  /// Symbols are bytes, spelt in GPT-2's printable alphabet ("Ġ" is a space). GGUF calls it `gpt2`.
  kByteLevel = 0,
  /// Symbols are characters; a space is spelt "▁" (U+2581); characters without a token become their
  /// UTF-8 bytes, spelt "<0x41>". GGUF calls it `llama`.
  kSentencePiece = 1,
};

/// The type of a token; the values are those of GGUF's `tokenizer.ggml.token_type`.
enum class TokenType : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,      ///< Stands for what has no token; found in text only when asked for.
  kControl = 3,      ///< Directs the model (end of turn); found in text only when asked for.
  kUserDefined = 4,  ///< Found in any text, before byte-pair encoding.
  kUnused = 5,
  kByte = 6,  ///< One byte, spelt "<0x41>" (kSentencePiece only).
};

/// What happens to the matches of a pre-tokenizer's pattern; names and meaning are those of Hugging
/// Face tokenizers. Text between matches always becomes a piece of its own.
enum class SplitBehavior : std::uint8_t {
  kIsolated = 0,            ///< Each match is a piece.
  kRemoved = 1,             ///< Matches are dropped.
  kMergedWithPrevious = 2,  ///< A match ends the piece before it.
  kMergedWithNext = 3,      ///< A match begins the piece after it.
  kContiguous = 4,          ///< Neighbouring matches are one piece.
};

/// One step of the pre-tokenizer; each step splits the pieces of the step before.
struct SplitStep {
  std::string pattern;  ///< PCRE2 syntax, matched with UTF and Unicode properties.
  SplitBehavior behavior = SplitBehavior::kIsolated;
  bool invert = false;  ///< Exchange the roles of matches and of the text between them.
};

/// What is put before a stretch of text (a whole text, or what follows a control token).
enum class SpacePrefix : std::uint8_t {
  kNone = 0,
  kAlways = 1,                   ///< A space before every stretch.
  kFirstUnlessSpace = 2,         ///< Before the first only, if it does not start with a space.
  kEveryStretchUnlessSpace = 3,  ///< Before every stretch that does not start with a space.
};

enum class Normalization : std::uint8_t { kNone = 0, kNfc = 1 };

/// How a user-defined or control token is found in text, where that is not the plain way.
struct TokenMatching {
  std::int64_t id = 0;
  bool strip_left = false;   ///< White space before it belongs to it.
  bool strip_right = false;  ///< White space after it belongs to it.
  bool normalized = false;   ///< Looked for after normalization instead of before.
};

/// A tokenizer. `tokens[i]` is token i as its vocabulary spells it (see TokenizerKind; control and
/// user-defined tokens are spelt as they stand in text).
struct TokenizerDefinition {
  TokenizerKind kind = TokenizerKind::kByteLevel;
  std::vector<std::string> tokens;
  std::vector<TokenType> types;  ///< One per token.
  /// One per token, or empty: SentencePiece's scores, the highest merges first.
  std::vector<float> scores;
  /// Pairs of spellings, the first merges first. Byte-level kinds need them; kSentencePiece uses
  /// scores where there are none.
  std::vector<std::pair<std::string, std::string>> merges;

  std::vector<SplitStep> pre_tokenizer;
  Normalization normalization = Normalization::kNone;
  SpacePrefix space_prefix = SpacePrefix::kNone;
  bool decode_strips_prefix = false;  ///< decode() takes off the space that `space_prefix` added.
  bool spaces_in_all_tokens = false;  ///< "▁" decodes to a space in every token, not kNormal alone.
  bool ignore_merges = false;         ///< A piece that is a token is that token, merges or not.
  bool byte_fallback = true;          ///< kSentencePiece: spell what has no token in bytes.
  bool fuse_unknown = false;          ///< Neighbouring unknowns become one.

  std::vector<TokenMatching> matching;  ///< Tokens that are not found the plain way.

  std::int64_t bos_id = -1;  ///< −1: none. So for the others.
  std::int64_t eos_id = -1;
  std::int64_t unknown_id = -1;
  bool add_bos = false;  ///< encode_prompt() begins with `bos_id`.
  bool add_eos = false;  ///< encode_prompt() ends with `eos_id`.
  /// Every token that ends a turn, ascending (Gemma 3: `<eos>` and `<end_of_turn>`).
  std::vector<std::int64_t> end_ids;
};

/// Makes control tokens of Gemma 4's markers of thoughts and tool calls, as its tokenizer.json has
/// them; GGUF files list them as user-defined, by which a user's text could name them. `types` has
/// one for every token.
void mark_control_tokens(TokenizerDefinition& definition);

/// Adds `eos_id` and the control tokens whose names are known to end a turn ("<|im_end|>",
/// "<|eot_id|>", "<end_of_turn>", "<turn|>", …) to `definition.end_ids`, sorts them and removes
/// duplicates.
void find_end_ids(TokenizerDefinition& definition);

/// The name of a pre-tokenizer that `name` in `tokenizer.ggml.pre` is another name of ("llama3" of
/// "llama-bpe"), or else `name` itself.
std::string_view canonical_pre_tokenizer(std::string_view name);

/// Sets `pre_tokenizer`, `normalization` and `ignore_merges` of a byte-level tokenizer to what GGUF
/// names in `tokenizer.ggml.pre`: default, gpt-2, llama-bpe, smaug-bpe, qwen2, qwen35, smollm, or
/// an alias of these. Throws
/// Error(kUnsupported) that names any other.
void set_pre_tokenizer(TokenizerDefinition& definition, const std::string& name);

}  // namespace gumbel
