// Telling a reply's thought from its answer.
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace gumbel {

struct Token;

/// Whether a model thinks before it answers.
enum class Thinking {
  kDefault,  ///< what the model's chat template does unless told otherwise
  kOff,
  kOn,
};

/// What a piece of a reply adds to its thought and to its answer; both may be empty.
struct ReplyText {
  std::string thought;
  std::string answer;

  bool operator==(const ReplyText&) const = default;
};

/// Divides the tokens of one reply, as they are drawn, into thought and answer; made by
/// Engine::reply_splitter(). Text that may be a part of a marker ("<think>", "<|channel>thought")
/// is held back until that is settled, so that no part of a marker is given out. White space around
/// a thought, and between a thought and the answer, belongs to neither; an empty thought is
/// nothing. However a reply is cut into pieces, it adds up to the same two texts. Without a
/// thought, and for a chat template without thinking, the answer is the reply as it is.
class ReplySplitter {
 public:
  ~ReplySplitter();
  ReplySplitter(ReplySplitter&&) noexcept;
  ReplySplitter& operator=(ReplySplitter&&) noexcept;

  /// The text that `token` settles. Knows markers that are control tokens, which have no text, by
  /// their ids.
  ReplyText add(const Token& token);
  /// The same for text alone.
  ReplyText add(std::string_view text);
  /// The end of the reply: what was held back. Ready for another reply.
  ReplyText finish();

 private:
  friend class Engine;
  struct Impl;
  explicit ReplySplitter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gumbel
