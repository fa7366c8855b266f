// The public splitter: markers that are control tokens by their ids, others by their text.
#include <gumbel/engine.h>
#include <gumbel/reply.h>

#include <utility>

#include "engine/engine_impl.h"
#include "text/thought_splitter.h"

namespace gumbel {
namespace {

// The control token of this name, which has no text, or -1.
int64_t control_token(const Tokenizer& tokenizer, const std::string& name) {
  const auto id = name.empty() ? std::nullopt : tokenizer.token_id(name);
  return id && tokenizer.type(*id) == TokenType::kControl ? *id : -1;
}

void append(ReplyText& to, const ReplyText& more) {
  to.thought += more.thought;
  to.answer += more.answer;
}

}  // namespace

struct ReplySplitter::Impl {
  Impl(const Tokenizer& tokenizer, ThoughtMarkers markers)
      : begin_id(control_token(tokenizer, markers.begin)),
        end_id(control_token(tokenizer, markers.end)) {
    markers.begin_is_token = begin_id >= 0;
    markers.end_is_token = end_id >= 0;
    splitter = ThoughtSplitter(std::move(markers));
  }

  int64_t begin_id;
  int64_t end_id;
  ThoughtSplitter splitter;
};

ReplySplitter::ReplySplitter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ReplySplitter::~ReplySplitter() = default;
ReplySplitter::ReplySplitter(ReplySplitter&&) noexcept = default;
ReplySplitter& ReplySplitter::operator=(ReplySplitter&&) noexcept = default;

ReplyText ReplySplitter::add(const Token& token) {
  // Text of a marker's token is that of characters before it, which a full context left incomplete.
  ReplyText text = add(token.text);
  if (token.id < 0) return text;
  if (token.id == impl_->begin_id) append(text, impl_->splitter.mark_begin());
  if (token.id == impl_->end_id) append(text, impl_->splitter.mark_end());
  return text;
}

ReplyText ReplySplitter::add(std::string_view text) { return impl_->splitter.add(text); }

ReplyText ReplySplitter::finish() { return impl_->splitter.finish(); }

ReplySplitter Engine::reply_splitter(Thinking thinking) const {
  return ReplySplitter(std::make_unique<ReplySplitter::Impl>(
      impl_->text(), impl_->chat().thought_markers(thinking)));
}

}  // namespace gumbel
