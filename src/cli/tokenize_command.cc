// gumbel tokenize: text to token ids, or a check against stored answers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/mapped_file.h"
#include "base/quote.h"
#include "cli/commands.h"
#include "cli/model_source.h"
#include "cli/options.h"
#include "export/import.h"
#include "program/program_file.h"
#include "text/chat_template.h"
#include "text/check_answers.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"
#include "text/tokenizer_record.h"

namespace gumbel::cli {
namespace {

struct TokenizeCommand {
  std::string source;
  std::string text;
  std::string check;
  std::string chat;
  std::string thinking;
  bool pieces = false;

  CLI::Option* check_option = nullptr;
  CLI::Option* chat_option = nullptr;

  void run() const;
  void run_check(const Tokenizer& tokenizer) const;
};

// What a source says about text.
struct TextSource {
  std::vector<std::byte> tokenizer;  // a record
  std::string chat_template;         // empty: none
};

// The bytes that `path` begins with, as many as there are up to 8.
std::string magic(const std::string& path) {
  const MappedFile file(path);
  std::string bytes(std::min<size_t>(file.bytes().size(), 8), '\0');
  std::memcpy(bytes.data(), file.bytes().data(), bytes.size());
  return bytes;
}

// Of a program, a GGUF file, a Hugging Face folder or a tokenizer.json.
TextSource read_source(const std::string& source) {
  if (std::filesystem::is_directory(source) || magic(source).starts_with("GGUF")) {
    const ImportedModel model = import_model(source);
    if (!model.tokenizer)
      fail(ErrorCode::kNotFound, "{}: expected a model with a tokenizer", source);
    return {serialize_tokenizer(*model.tokenizer), model.chat_template};
  }
  if (magic(source).starts_with("GUMBEL")) {
    const ProgramFile file(source);
    const auto record = file.program().tokenizer;
    if (record.empty())
      fail(ErrorCode::kNotFound, "{}: expected a program with a tokenizer", source);
    return {{record.begin(), record.end()}, file.program().chat_template};
  }
  const MappedFile file(source);
  const std::string_view json(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  return {serialize_tokenizer(tokenizer_from_json(json)), ""};
}

// A JSON list of messages, each with its role and its content.
std::vector<Message> read_messages(const std::string& path) {
  const MappedFile file(path);
  const std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array())
    fail(ErrorCode::kInvalidArgument, "{}: expected a JSON list of messages", path);
  std::vector<Message> messages;
  for (const nlohmann::json& entry : json) {
    if (!entry.is_object())
      fail(ErrorCode::kInvalidArgument, "{}: message {}: expected an object", path,
           messages.size());
    const JsonFields fields(entry, fmt::format("{}: message {}", path, messages.size()));
    const auto role = fields.string("role");
    const auto content = fields.string("content");
    if (!role || !content)
      fail(ErrorCode::kInvalidArgument, "{}: message {}: expected a role and a content", path,
           messages.size());
    messages.push_back({*role, *content});
  }
  return messages;
}

void print_pieces(const Tokenizer& tokenizer, const std::vector<int64_t>& ids) {
  for (const int64_t id : ids) fmt::print("{:>7} {}\n", id, quote(tokenizer.decode({&id, 1})));
}

void TokenizeCommand::run_check(const Tokenizer& tokenizer) const {
  std::ifstream answers(check);
  if (!answers || std::filesystem::is_directory(check))
    fail(ErrorCode::kIo, "{}: cannot read the answers", check);
  const CheckResult result = check_answers(tokenizer, answers);
  if (result.checked == 0)
    fail(ErrorCode::kCorruptFile, "{}: expected answers (JSON lines), found none", check);
  fmt::print("{} of {} lines equal\n", result.checked - result.mismatched, result.checked);
  if (result.mismatched == 0) return;
  fmt::print("{}\n", result.first_mismatch);
  throw Mismatch{};
}

void TokenizeCommand::run() const {
  const TextSource read = read_source(fetched(source).path);
  const Tokenizer tokenizer(read.tokenizer);
  if (check_option->count() > 0) return run_check(tokenizer);
  std::vector<int64_t> ids;
  if (chat_option->count() > 0) {
    if (read.chat_template.empty())
      fail(ErrorCode::kNotFound, "{}: expected a model with a chat template", source);
    const ChatTemplate compiled = compile_chat_template(read.chat_template, tokenizer,
                                                        told_thought_markers(read.chat_template));
    ids = encode_chat(tokenizer, compiled, read_messages(chat), /*add_generation_prompt=*/true,
                      thinking_named(thinking).value_or(Thinking::kDefault));
  } else {
    ids = tokenizer.encode(text);
  }
  if (pieces) return print_pieces(tokenizer, ids);
  fmt::print("{}\n", fmt::join(ids, " "));
}

}  // namespace

void add_tokenize_command(CLI::App& app) {
  auto command = std::make_shared<TokenizeCommand>();
  CLI::App* sub = app.add_subcommand("tokenize", "Print token ids, or check stored ones");
  sub->add_option("SOURCE", command->source,
                  "Program, GGUF file, Hugging Face folder, hf:OWNER/NAME[:FILE] or tokenizer.json")
      ->required();
  auto* what = sub->add_option_group("what")->require_option(1);
  what->add_option("--text", command->text, "Text to tokenize");
  command->check_option =
      what->add_option("--check", command->check, "Answers to compare with (JSON lines)");
  command->chat_option = what->add_option("--chat", command->chat,
                                          "Conversation to write down (JSON list of messages)");
  add_thinking_option(*sub, command->thinking)->needs(command->chat_option);
  sub->add_flag("--pieces", command->pieces, "A line for each token: its id and its text");
  sub->callback([command] { command->run(); });
}

}  // namespace gumbel::cli
