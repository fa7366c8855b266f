// Text to token ids and back.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer_definition.h"

namespace gumbel {

/// What becomes of the names of control tokens ("<end_of_turn>") that stand in a text.
enum class ControlTokens : std::uint8_t {
  kPlain,  ///< Text like any other: what users write.
  kParse,  ///< The tokens they name: what a chat template writes.
};

/// A stretch of text and what its control tokens are.
struct TextSegment {
  std::string_view text;
  ControlTokens control = ControlTokens::kPlain;
};

/// A tokenizer over a record (tokenizer_record.h) that is used where it lies. Construction checks
/// the record's structure in about a millisecond; every access is bounds-checked, so that no
/// record, however damaged, leads outside its bytes. All methods are const and may be called
/// concurrently.
class Tokenizer {
 public:
  /// `record` must outlive the tokenizer. Throws Error(kCorruptFile) for bytes that are no record.
  explicit Tokenizer(std::span<const std::byte> record);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  TokenizerKind kind() const;
  std::int64_t vocab_size() const;
  std::int64_t bos_id() const;  ///< −1: none.
  std::int64_t eos_id() const;  ///< −1: none.
  /// Every token that ends a turn, ascending; holds eos_id().
  const std::vector<std::int64_t>& end_ids() const;
  bool adds_bos() const;
  bool adds_eos() const;

  /// The ids of `text`, without BOS or EOS. Invalid UTF-8 becomes U+FFFD, one for each maximal
  /// invalid part. Takes time about linear in the length. Throws Error(kInvalidArgument) only where
  /// a pre-tokenizer's pattern exceeds its limit of work, which no built-in pattern does.
  std::vector<std::int64_t> encode(std::string_view text,
                                   ControlTokens control = ControlTokens::kPlain) const;

  /// The ids of the segments' texts joined into one. A control token is found only where its name
  /// lies inside one kParse segment; neither do other tokens reach from a kPlain segment into a
  /// kParse one, so no content can disturb the scaffolding around it.
  std::vector<std::int64_t> encode(std::span<const TextSegment> segments) const;

  /// encode(), with BOS before and EOS after where the model wants them.
  std::vector<std::int64_t> encode_prompt(std::string_view text,
                                          ControlTokens control = ControlTokens::kPlain) const;

  /// The text of `ids`, always valid UTF-8: broken characters become U+FFFD. Control tokens appear
  /// by name if `show_control`, else not at all. Throws Error(kInvalidArgument) for an id outside
  /// the vocabulary.
  std::string decode(std::span<const std::int64_t> ids, bool show_control = true) const;

  /// The bytes that token `id` stands for, perhaps part of a character. Throws
  /// Error(kInvalidArgument) for an id outside the vocabulary.
  std::string piece(std::int64_t id) const;
  /// Throws as piece() does.
  TokenType type(std::int64_t id) const;
  /// The control or user-defined token of this name, or else the token that stands for these bytes.
  std::optional<std::int64_t> token_id(std::string_view text) const;

  /// Whether decode() takes one space off the start of the text.
  bool decode_strips_prefix() const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace gumbel
