// Loading a program and drawing tokens from it.
#pragma once

#include <gumbel/error.h>
#include <gumbel/message.h>
#include <gumbel/reply.h>
#include <gumbel/sampling.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gumbel {

struct EngineOptions {
  std::string backend = "cpu";  ///< "cpu" or "reference"
  int threads = 0;              ///< 0: the physical cores that the process may run on
  /// For programs that return logits: draw tokens on the host, by the same rules.
  bool host_sampling = false;
  /// Read every weight and compare its checksum before anything else. Otherwise that happens in the
  /// background, once, where memory holds the program; a session fails then at the next call after
  /// a damaged weight was found.
  bool check_weights = false;
};

/// What a program says of itself.
struct ModelInfo {
  int64_t max_sequence_length = 0;  ///< positions that a session can hold
  int64_t vocab_size = 0;
  int64_t layers = 0;
  int64_t min_prefill_chunk = 0;
  int64_t max_prefill_chunk = 0;
  bool use_sampling = false;  ///< forward returns tokens; otherwise logits
  int64_t bos_id = -1;        ///< -1: none
  std::vector<int64_t> eos_ids;
  bool has_tokenizer = false;
  bool has_chat_template = false;  ///< otherwise text is completed
  bool can_think = false;          ///< the chat template has thinking
  std::map<std::string, std::string> provenance;
};

/// One drawn token.
struct Token {
  int64_t id = -1;        ///< -1 where the session was stopped before the draw
  std::string text;       ///< whole UTF-8 characters that it completes; may be empty
  bool eos = false;       ///< the token ends the turn; it has no text
  bool terminal = false;  ///< nothing follows: eos, the context is full, or the session was stopped
};

/// Times and counts of one session since it was created or reset. Sampling is part of decode.
struct Statistics {
  int64_t prefill_tokens = 0;
  double prefill_seconds = 0;  ///< up to and including the first token of each prefill
  int64_t decode_tokens = 0;
  double decode_seconds = 0;
  double sampling_seconds = 0;  ///< of prefill and decode
};

class Session;

/// A loaded program: weights, tokenizer and metadata, shared by any number of sessions. Sessions
/// may be used from different threads; their calls run one after the other.
class Engine {
 public:
  /// Maps and verifies the program. Throws Error: kIo, kCorruptFile, kUnsupported.
  explicit Engine(const std::filesystem::path& program, const EngineOptions& options = {});
  ~Engine();
  Engine(Engine&&) noexcept;
  Engine& operator=(Engine&&) noexcept;

  const ModelInfo& info() const;
  double load_seconds() const;
  /// Bytes that the state of one session takes once its context is full.
  uint64_t session_bytes() const;
  /// How many sessions with full contexts the memory that is available now would hold.
  int64_t serving_capacity() const;

  /// A session with its own state; the engine must outlive it.
  Session create_session();

  /// Token ids of plain text, with BOS where the model wants one. Names of control tokens in the
  /// text are text, unless `parse_control`. Throws Error(kUnsupported) without a tokenizer, as do
  /// the other functions on text.
  std::vector<int64_t> encode(std::string_view text, bool parse_control = false) const;
  /// Token ids of a conversation as the model's chat template writes it, up to where its answer
  /// begins. Names of control tokens in the messages are text. Throws Error(kUnsupported) without a
  /// chat template and for a `thinking` that it does not have, and Error(kInvalidArgument), with
  /// the line, where the template refuses the conversation.
  std::vector<int64_t> encode_chat(std::span<const Message> messages,
                                   Thinking thinking = Thinking::kDefault) const;
  /// Token ids that follow an answer in a session: the end of the answer's turn, unless `last`, the
  /// session's last token, is that already; the user's message; and the beginning of the next
  /// answer. What the session holds stays as it was drawn, thoughts included, so that nothing is
  /// computed again; to be rid of them, or to begin or end `thinking` in a conversation (Gemma 4
  /// says it in the system message), use encode_chat() in a session that was reset.
  std::vector<int64_t> encode_reply(std::string_view user_message, int64_t last,
                                    Thinking thinking = Thinking::kDefault) const;
  /// Divides the reply to what encode_chat() or encode_reply() made with the same `thinking` into
  /// thought and answer. Throws as they do. Independent of the engine once it is made.
  ReplySplitter reply_splitter(Thinking thinking = Thinking::kDefault) const;
  /// The text of `ids`; control tokens do not appear.
  std::string decode(std::span<const int64_t> ids) const;

 private:
  friend class Session;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// One sequence: its position, its cached keys and values, its last token. A session that failed
/// while computing (Error kNumeric, kIo or kCorruptFile) refuses everything but reset() with
/// kFailedState; a call that is refused for its arguments changes nothing. Not for concurrent use,
/// except stop().
class Session {
 public:
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// Feeds `tokens` (after the last drawn token, if there is one that was not fed yet) and draws
  /// the token that follows. Throws Error(kInvalidArgument) before any work where there is no
  /// token, an id is outside the vocabulary, a parameter is out of range or the context would
  /// overflow.
  Token prefill(std::span<const int64_t> tokens, const Sampling& sampling);

  /// Feeds the last drawn token and draws the next. Throws Error(kInvalidArgument) where nothing
  /// was drawn yet or the context is full.
  Token decode(const Sampling& sampling);

  /// Positions fed so far; the last drawn token is not among them.
  int64_t position() const;
  /// The last drawn token, or -1.
  int64_t last_token() const;
  /// Positions that are left: how many tokens prefill() can feed, the last drawn one included.
  int64_t remaining() const;
  /// From any thread: the call that runs now, or else the next one, returns at its next chunk
  /// without a draw, a terminal token of id -1. What was fed stays fed.
  void stop();
  /// Takes back a stop() that no call has seen, so that it does not stop a later one.
  void cancel_stop();
  /// A second session at this one's position with the same past, drawn token included, and empty
  /// statistics; from here on neither sees what the other is fed. Both feed the drawn token before
  /// what they are given next. Throws Error(kFailedState) where
  /// this session failed.
  Session branch() const;
  /// Back to position 0, with the statistics, and usable again after a failure.
  void reset();

  const Statistics& statistics() const;

 private:
  friend class Engine;
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace gumbel
