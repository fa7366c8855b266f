// How a conversation is written down for a model.
#pragma once

#include <gumbel/message.h>
#include <gumbel/reply.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/thought_splitter.h"
#include "text/tokenizer.h"

namespace gumbel {

/// A chat format as plain strings. A message is written prefix, content, suffix.
struct ChatFormat {
  std::string name;  ///< "chatml", "qwen3.5", "llama3", "gemma3" or "gemma4".
  bool starts_with_bos = false;
  std::string system_prefix, system_suffix;
  std::string user_prefix, user_suffix;
  std::string assistant_prefix, assistant_suffix;
  std::string generation_prompt;  ///< What the answer follows.
  /// The system message of a conversation that has none; without one and with an empty preamble no
  /// system message is written.
  std::string default_system;
  std::string
      system_preamble;  ///< Stands before the content of the system message, even a missing one.
  /// The system message has no turn of its own: it stands, followed by a blank line, at the start
  /// of the first user's content.
  bool system_in_first_user = false;
  bool trim_content = false;             ///< White space around a message's content is taken off.
  bool strip_thinking = false;           ///< Earlier answers lose their thoughts.
  std::vector<std::string> end_of_turn;  ///< Names of the tokens that end an answer.

  // Thinking. Programs exported before it was known have none of these members.

  bool thinks = false;             ///< Unless told otherwise.
  bool thinking_switch = false;    ///< Both ways are possible.
  std::string thinking_system;     ///< At the start of the system message when thinking, even a
                                   ///< missing one.
  std::string thinking_prompt;     ///< After the generation prompt when thinking,
  std::string no_thinking_prompt;  ///< and when not.
  std::string thought_begin, thought_end;  ///< Around a thought; empty: thoughts are not told.
  std::string thought_header;      ///< Follows `thought_begin` and is not a part of the thought.
  bool thoughts_anywhere = false;  ///< Thoughts may stand at any place of an answer.
  /// Answers after the last user's message keep their thought, even an empty one, between
  /// `thought_begin` and `thought_end` on lines of their own.
  bool keep_last_thought = false;

  bool operator==(const ChatFormat&) const = default;
};

/// The format that a model's Jinja chat template writes, told from the template's text; none if it
/// is not one of ChatML (Qwen 3.5 among them), Llama 3, Gemma 3 and Gemma 4.
std::optional<ChatFormat> detect_chat_format(std::string_view jinja_template);

/// A stretch of a rendered conversation: scaffolding (kParse) or content (kPlain).
struct ChatSegment {
  std::string text;
  ControlTokens control = ControlTokens::kPlain;
};

/// Whether the model thinks, asked for `thinking`. Throws Error(kUnsupported) that names the format
/// where it has only the other way.
bool resolve_thinking(const ChatFormat& format, Thinking thinking);

/// Writes down a conversation, without BOS. Throws Error(kInvalidArgument) for a role that is not
/// known, and for a system message that is not the first, and as resolve_thinking() does.
std::vector<ChatSegment> render_chat(const ChatFormat& format, std::span<const Message> messages,
                                     bool add_generation_prompt,
                                     Thinking thinking = Thinking::kDefault);

/// The ids of a conversation, with BOS where the format starts with it and the tokenizer has one.
/// Names of control tokens in the messages are plain text. Throws as render_chat() does.
std::vector<std::int64_t> encode_chat(const Tokenizer& tokenizer, const ChatFormat& format,
                                      std::span<const Message> messages,
                                      bool add_generation_prompt = true,
                                      Thinking thinking = Thinking::kDefault);

/// The ids that follow an answer: the end of the assistant's turn, the user's message and the
/// generation prompt. Where `last`, the last id before them, ends the turn already, it is not
/// repeated. Throws as resolve_thinking() does.
std::vector<std::int64_t> encode_reply(const Tokenizer& tokenizer, const ChatFormat& format,
                                       std::string_view user_message, std::int64_t last,
                                       Thinking thinking = Thinking::kDefault);

/// The markers of the thoughts in what follows the generation prompt; all of them as text.
ThoughtMarkers thought_markers(const ChatFormat& format, Thinking thinking = Thinking::kDefault);

}  // namespace gumbel
