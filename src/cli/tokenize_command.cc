// gumbel tokenize: text to token ids, or a check against stored answers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/mapped_file.h"
#include "cli/commands.h"
#include "cli/model_source.h"
#include "export/import.h"
#include "program/program_file.h"
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

  CLI::Option* check_option = nullptr;

  void run() const;
};

// The bytes that `path` begins with, as many as there are up to 8.
std::string magic(const std::string& path) {
  const MappedFile file(path);
  std::string bytes(std::min<size_t>(file.bytes().size(), 8), '\0');
  std::memcpy(bytes.data(), file.bytes().data(), bytes.size());
  return bytes;
}

// The record of the tokenizer in a program, a GGUF file, a Hugging Face folder or a tokenizer.json.
std::vector<std::byte> tokenizer_record(const std::string& source) {
  if (std::filesystem::is_directory(source) || magic(source).starts_with("GGUF")) {
    const ImportedModel model = import_model(source);
    if (!model.tokenizer)
      fail(ErrorCode::kNotFound, "{}: expected a model with a tokenizer", source);
    return serialize_tokenizer(*model.tokenizer);
  }
  if (magic(source).starts_with("GUMBEL")) {
    const ProgramFile file(source);
    const auto record = file.program().tokenizer;
    if (record.empty())
      fail(ErrorCode::kNotFound, "{}: expected a program with a tokenizer", source);
    return {record.begin(), record.end()};
  }
  const MappedFile file(source);
  const std::string_view json(reinterpret_cast<const char*>(file.bytes().data()),
                              file.bytes().size());
  return serialize_tokenizer(tokenizer_from_json(json));
}

void TokenizeCommand::run() const {
  const std::vector<std::byte> record = tokenizer_record(fetched(source).path);
  const Tokenizer tokenizer(record);
  if (check_option->count() == 0) {
    fmt::print("{}\n", fmt::join(tokenizer.encode(text), " "));
    return;
  }
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
  sub->callback([command] { command->run(); });
}

}  // namespace gumbel::cli
