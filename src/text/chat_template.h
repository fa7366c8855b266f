// How a conversation is written down for a model: by its own chat template.
#pragma once

#include <gumbel/message.h>
#include <gumbel/reply.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/jinja.h"
#include "text/thought_splitter.h"
#include "text/tokenizer.h"

namespace gumbel {

/// The markers of thoughts that a template's text names: "<think>" and its like. Without any, both
/// markers are empty.
ThoughtMarkers told_thought_markers(std::string_view source);

/// A compiled chat template and what it does with thinking, told from its renders.
class ChatTemplate {
 public:
  /// `bos` and `eos` are the spelling of the tokens, empty where there are none. Throws
  /// Error(kInvalidArgument) for a source that is no template.
  ChatTemplate(std::string_view source, std::string bos, std::string eos,
               ThoughtMarkers markers = {});

  /// Whether the model thinks unless told otherwise: it is asked to by the template's own variable
  /// (enable_thinking, thinking), or the template begins the thought itself.
  bool thinks() const { return thinks_; }
  /// Whether both ways can be asked for.
  bool has_thinking_switch() const { return switches_; }

  /// The conversation as text; messages have the origin kValue, all else the template's. Throws
  /// Error(kInvalidArgument) for a role that is not known and for what the template refuses, and as
  /// resolve_thinking() does.
  std::vector<jinja::Stretch> render(std::span<const Message> messages, bool add_generation_prompt,
                                     Thinking thinking = Thinking::kDefault) const;

  /// The markers of the thoughts in what follows the generation prompt; all of them as text. Throws
  /// as resolve_thinking() does.
  ThoughtMarkers thought_markers(Thinking thinking = Thinking::kDefault) const;

  /// Whether the model thinks, asked for `thinking`. Throws Error(kUnsupported) where the template
  /// has only the other way.
  bool resolve_thinking(Thinking thinking) const;

 private:
  std::vector<jinja::Stretch> render_with(std::span<const Message> messages,
                                          bool add_generation_prompt,
                                          std::optional<bool> thinking) const;
  /// What stands before the answer, or nothing where the template refuses a plain question.
  std::optional<std::vector<jinja::Stretch>> prompt_for_probe(std::optional<bool> thinking) const;
  bool begins_thought(const std::vector<jinja::Stretch>& prompt) const;

  jinja::Template template_;
  std::string bos_;
  std::string eos_;
  ThoughtMarkers markers_;
  bool thinks_ = false;
  bool switches_ = false;
};

/// The template with the BOS and EOS of `tokenizer`. Throws Error(kInvalidArgument) for a source
/// that is no template.
ChatTemplate compile_chat_template(std::string_view source, const Tokenizer& tokenizer,
                                   ThoughtMarkers markers);

/// The ids of a conversation. Names of control tokens are tokens where the template writes them and
/// plain text in messages. Throws as ChatTemplate::render() does.
std::vector<std::int64_t> encode_chat(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                      std::span<const Message> messages,
                                      bool add_generation_prompt = true,
                                      Thinking thinking = Thinking::kDefault);

/// The ids that follow an answer: the end of the assistant's turn, the user's message and the
/// generation prompt. Where `last`, the last id before them, ends the turn already, it is not
/// repeated. Throws as ChatTemplate::render() does, and Error(kUnsupported) for a template that
/// does not write answers down.
std::vector<std::int64_t> encode_reply(const Tokenizer& tokenizer, const ChatTemplate& chat,
                                       std::string_view user_message, std::int64_t last,
                                       Thinking thinking = Thinking::kDefault);

/// The control token that the template writes at the end of an answer.
std::optional<std::int64_t> end_of_turn_id(const Tokenizer& tokenizer, const ChatTemplate& chat);

}  // namespace gumbel
