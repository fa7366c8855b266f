#include "text/thought_splitter.h"

#include <algorithm>
#include <utility>

namespace gumbel {
namespace {

constexpr std::string_view kBlank = " \t\r\n";

// The length of the longest end of `text` that begins `marker` without being all of it.
std::size_t partial_marker(std::string_view text, std::string_view marker) {
  if (marker.empty()) return 0;
  for (std::size_t n = std::min(marker.size() - 1, text.size()); n > 0; --n)
    if (text.ends_with(marker.substr(0, n))) return n;
  return 0;
}

}  // namespace

ThoughtSplitter::ThoughtSplitter(ThoughtMarkers markers) : markers_(std::move(markers)) { start(); }

void ThoughtSplitter::start() {
  held_.clear();
  header_.clear();
  blank_.clear();
  answer_begun_ = thought_before_ = thought_text_ = any_thought_ = false;
  // Without an end a thought could not be told from the answer.
  const bool none = markers_.begin.empty() || markers_.end.empty();
  state_ = none ? State::kAnswer : markers_.begun ? State::kThought : State::kStart;
  if (none) markers_ = {};
}

bool ThoughtSplitter::looks_for_begin() const {
  if (markers_.begin.empty() || markers_.begin_is_token) return false;
  return markers_.anywhere || (state_ == State::kStart && !thought_before_);
}

bool ThoughtSplitter::looks_for_end() const {
  if (markers_.end.empty() || markers_.end_is_token) return false;
  return markers_.anywhere || state_ == State::kHeader || state_ == State::kThought;
}

ReplyText ThoughtSplitter::add(std::string_view text) {
  ReplyText out;
  held_ += text;
  while (true) {
    // What precedes a marker may end the search for it ("x<think>"), which then is text: begin()
    // and end() see to that.
    const bool for_begin = looks_for_begin();
    const bool for_end = looks_for_end();
    const std::size_t begin_at = for_begin ? held_.find(markers_.begin) : std::string::npos;
    const std::size_t end_at = for_end ? held_.find(markers_.end) : std::string::npos;
    const std::size_t at = std::min(begin_at, end_at);
    if (at == std::string::npos) {
      const std::size_t keep = std::max(for_begin ? partial_marker(held_, markers_.begin) : 0,
                                        for_end ? partial_marker(held_, markers_.end) : 0);
      const std::size_t settled = held_.size() - keep;
      take(std::string_view(held_).substr(0, settled), out);
      held_.erase(0, settled);
      return out;
    }
    take(std::string_view(held_).substr(0, at), out);
    const bool begins = at == begin_at;
    held_.erase(0, at + (begins ? markers_.begin : markers_.end).size());
    if (begins)
      begin(markers_.begin, out);
    else
      end(markers_.end, out);
  }
}

// What is held back becomes text: a control token cannot be the rest of a marker.
ReplyText ThoughtSplitter::release() {
  ReplyText out;
  take(std::exchange(held_, {}), out);
  return out;
}

ReplyText ThoughtSplitter::mark_begin() {
  ReplyText out = release();
  begin("", out);
  return out;
}

ReplyText ThoughtSplitter::mark_end() {
  ReplyText out = release();
  end("", out);
  return out;
}

ReplyText ThoughtSplitter::finish() {
  ReplyText out = release();
  if (state_ == State::kHeader) {
    take_thought(header_, out);
  } else if (state_ == State::kStart && !thought_before_) {
    out.answer += blank_;
  }
  start();
  return out;
}

void ThoughtSplitter::begin(std::string_view spelt, ReplyText& out) {
  const bool outside = state_ == State::kStart || state_ == State::kAnswer;
  const bool at_start = state_ == State::kStart && !thought_before_;
  if (outside && (markers_.anywhere || at_start)) {
    blank_.clear();
    thought_text_ = false;
    state_ = markers_.header.empty() ? State::kThought : State::kHeader;
  } else if (!markers_.anywhere) {
    take(spelt, out);
  }
}

void ThoughtSplitter::end(std::string_view spelt, ReplyText& out) {
  if (state_ == State::kHeader || state_ == State::kThought) {
    take_thought(std::exchange(header_, {}), out);
    blank_.clear();
    thought_before_ = true;
    state_ = answer_begun_ ? State::kAnswer : State::kStart;
  } else if (!markers_.anywhere) {
    take(spelt, out);
  }
}

void ThoughtSplitter::take(std::string_view text, ReplyText& out) {
  switch (state_) {
    case State::kAnswer:
      out.answer += text;
      return;
    case State::kThought:
      take_thought(text, out);
      return;
    case State::kStart: {
      const std::size_t blank = std::min(text.find_first_not_of(kBlank), text.size());
      if (!thought_before_) blank_ += text.substr(0, blank);
      if (blank == text.size()) return;
      out.answer += std::exchange(blank_, {});
      out.answer += text.substr(blank);
      answer_begun_ = true;
      state_ = State::kAnswer;
      return;
    }
    case State::kHeader: {
      header_ += text;
      const bool whole = header_.starts_with(markers_.header);
      if (!whole && std::string_view(markers_.header).starts_with(header_)) return;
      const std::string rest =
          std::exchange(header_, {}).substr(whole ? markers_.header.size() : 0);
      state_ = State::kThought;
      take_thought(rest, out);
      return;
    }
  }
}

void ThoughtSplitter::take_thought(std::string_view text, ReplyText& out) {
  if (!thought_text_) text.remove_prefix(std::min(text.find_first_not_of(kBlank), text.size()));
  if (text.empty()) return;
  if (!thought_text_ && any_thought_) out.thought += '\n';  // thoughts of one reply, one a line
  thought_text_ = any_thought_ = true;
  // White space at its end waits: it may be that of the thought.
  const std::size_t last = text.find_last_not_of(kBlank);
  const std::size_t size = last == std::string_view::npos ? 0 : last + 1;
  if (size > 0) {
    out.thought += std::exchange(blank_, {});
    out.thought += text.substr(0, size);
  }
  blank_ += text.substr(size);
}

}  // namespace gumbel
