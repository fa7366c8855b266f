// Divides the text of a reply into thought and answer.
#pragma once

#include <gumbel/reply.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace gumbel {

/// How a reply marks its thought. Without `begin` and `end` all of a reply is its answer.
struct ThoughtMarkers {
  std::string begin;
  std::string end;
  std::string header;     ///< Follows `begin` and is not a part of the thought; may be empty.
  bool anywhere = false;  ///< A thought may begin at any place, not only at the reply's start.
  bool begun = false;     ///< The prompt began the thought: the reply starts inside it.
  /// The marker is a control token, which only mark_begin() (mark_end()) tells of: where a text
  /// spells it, it is text.
  bool begin_is_token = false;
  bool end_is_token = false;
};

/// See ReplySplitter. A marker where it has no meaning (a second `begin`, an `end` without a
/// thought) is text, but where thoughts may begin anywhere it is left out.
class ThoughtSplitter {
 public:
  explicit ThoughtSplitter(ThoughtMarkers markers = {});

  /// What `text` settles; the bytes may be cut anywhere.
  ReplyText add(std::string_view text);
  /// The control token `begin` (`end`) instead of text.
  ReplyText mark_begin();
  ReplyText mark_end();
  /// The end of the reply. Ready for another one.
  ReplyText finish();

 private:
  enum class State : std::uint8_t {
    kStart,    // nothing of the answer yet
    kAnswer,   // in it
    kHeader,   // after `begin`: what `held_` has may be the beginning of the header
    kThought,  // in a thought
  };

  bool looks_for_begin() const;
  bool looks_for_end() const;
  void start();
  /// Text without markers.
  void take(std::string_view text, ReplyText& out);
  void take_thought(std::string_view text, ReplyText& out);
  void begin(std::string_view spelt, ReplyText& out);
  void end(std::string_view spelt, ReplyText& out);
  ReplyText release();

  ThoughtMarkers markers_;
  State state_;
  std::string held_;    // may be the beginning of a marker
  std::string header_;  // in kHeader: what may be the beginning of the header
  std::string blank_;   // white space: kStart, before all text; kThought, after some of it
  bool answer_begun_ = false;
  bool thought_before_ = false;  // a thought has ended
  bool thought_text_ = false;    // this thought has text
  bool any_thought_ = false;     // some thought has text
};

}  // namespace gumbel
