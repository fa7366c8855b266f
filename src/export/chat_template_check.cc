#include "export/chat_template_check.h"

#include <fmt/format.h>
#include <gumbel/error.h>

#include "text/chat_template.h"
#include "text/tokenizer_record.h"

namespace gumbel {

void check_chat_template(ImportedModel& model) {
  if (model.chat_template.empty() || !model.tokenizer) {
    model.chat_template.clear();
    return;
  }
  const std::vector<std::byte> record = serialize_tokenizer(*model.tokenizer);
  const Tokenizer tokenizer(record);
  try {
    const ChatTemplate chat = compile_chat_template(model.chat_template, tokenizer, {});
    const std::optional<int64_t> end = end_of_turn_id(tokenizer, chat);
    if (end) model.tokenizer->end_ids.push_back(*end);
    const std::vector<Message> question{{"user", "question"}};
    chat.render(question, true);
  } catch (const Error& error) {
    model.notes.push_back(fmt::format("left out what cannot be used: {}", error.what()));
    model.chat_template.clear();
  }
}

}  // namespace gumbel
