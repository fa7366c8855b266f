#include "cli/chat.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace gumbel::cli {

Chat::Chat(Engine& engine, std::optional<std::string> system)
    : engine_(engine), session_(engine.create_session()), system_(std::move(system)) {}

void Chat::reset() {
  session_.reset();
  history_.clear();
}

void Chat::set_thinking(Thinking thinking) {
  engine_.reply_splitter(thinking);  // refuses what the format does not have
  says_thinking_ = says_thinking_ && thinking == thinking_;
  thinking_ = thinking;
}

// The tokens to feed for the answer to `user`: the continuation of what the session holds, or,
// where that leaves too little room, the conversation from its first turn that fits, in a session
// reset. So too after a change of thinking, which the system message may have to say.
std::vector<int64_t> Chat::next_tokens(const std::string& user) {
  const int64_t context = engine_.info().max_sequence_length;
  const int64_t room_for_answer = std::min<int64_t>(256, context / 4);
  if (session_.position() > 0 && says_thinking_) {
    std::vector<int64_t> tokens = engine_.encode_reply(user, session_.last_token(), thinking_);
    // The last drawn token is fed before them.
    if (static_cast<int64_t>(tokens.size()) + 1 + room_for_answer <= session_.remaining())
      return tokens;
  }
  size_t dropped = 0;
  while (true) {
    std::vector<Message> messages;
    if (system_) messages.push_back({"system", *system_});
    messages.insert(messages.end(), history_.begin() + static_cast<std::ptrdiff_t>(dropped),
                    history_.end());
    messages.push_back({"user", user});
    std::vector<int64_t> tokens = engine_.encode_chat(messages, thinking_);
    const auto length = static_cast<int64_t>(tokens.size());
    if (dropped < history_.size() && length + room_for_answer > context) {
      dropped += 2;
      continue;
    }
    if (length > context)
      throw Error(ErrorCode::kInvalidArgument,
                  fmt::format("the message: expected at most {} tokens with the system message, "
                              "the context, got {}",
                              context, length));
    if (dropped > 0)
      fmt::print(stderr,
                 "[the context of {} positions is full: the oldest {} turns are forgotten]\n",
                 context, dropped / 2);
    history_.erase(history_.begin(), history_.begin() + static_cast<std::ptrdiff_t>(dropped));
    session_.reset();
    says_thinking_ = true;
    return tokens;
  }
}

Answer Chat::send(const std::string& user, const GenerateOptions& options) {
  const std::vector<int64_t> tokens = next_tokens(user);
  ReplySplitter splitter = engine_.reply_splitter(thinking_);
  Answer answer = generate(session_, tokens, options, &splitter);
  if (answer.tokens == 0) {
    // Interrupted before the answer: the session may hold a part of the message. The next message
    // begins from the history, which does not have this one.
    session_.reset();
    return answer;
  }
  history_.push_back({"user", user});
  history_.push_back({"assistant", answer.text});
  return answer;
}

}  // namespace gumbel::cli
