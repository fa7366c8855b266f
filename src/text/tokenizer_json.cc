#include "text/tokenizer_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quote.h"
#include "text/record_layout.h"
#include "text/tokenizer_json_steps.h"

namespace gumbel {
namespace {

using nlohmann::json;

[[noreturn]] void refuse(const std::string& what) {
  fail(ErrorCode::kUnsupported, "tokenizer.json: {} is not supported", what);
}

std::int64_t token_id_of(const json& value, const std::string& token) {
  // Unsigned is how the parser stores every integer that is not negative.
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() >= kMaxVocabSize) {
    fail(ErrorCode::kCorruptFile, "tokenizer.json: token {} needs an id from 0 to {}", quote(token),
         kMaxVocabSize - 1);
  }
  return value.get<std::int64_t>();
}

// The vocabulary as it is gathered: tokens by id, with holes until finish().
class Vocabulary {
 public:
  void add(std::int64_t id, const std::string& token) {
    const auto [place, added] = ids_.emplace(token, id);
    const auto index = static_cast<std::size_t>(id);
    if (index >= tokens_.size()) grow(index + 1);
    const bool taken = types_[index] != TokenType::kUnused;
    if (place->second != id || (taken && tokens_[index] != token)) {
      fail(ErrorCode::kCorruptFile, "tokenizer.json: id {} or token {} occurs twice", id,
           quote(token));
    }
    if (taken) return;
    tokens_[index] = token;
    types_[index] = TokenType::kNormal;
    ++count_;
  }

  void set_type(std::int64_t id, TokenType type) { types_[static_cast<std::size_t>(id)] = type; }

  // −1: none
  std::int64_t find(const std::string& token) const {
    const auto found = ids_.find(token);
    return found == ids_.end() ? -1 : found->second;
  }

  void finish(TokenizerDefinition& definition) {
    definition.tokens = std::move(tokens_);
    definition.types = std::move(types_);
  }

  const std::unordered_map<std::string, std::int64_t>& ids() const { return ids_; }
  std::size_t size() const { return tokens_.size(); }
  std::size_t count() const { return count_; }

 private:
  void grow(std::size_t size) {
    tokens_.resize(size);
    types_.resize(size, TokenType::kUnused);
  }

  std::unordered_map<std::string, std::int64_t> ids_;
  std::vector<std::string> tokens_;
  std::vector<TokenType> types_;
  std::size_t count_ = 0;
};

void read_vocabulary(const json& model, Vocabulary& vocabulary) {
  const json& vocab = fields(model).value("vocab");
  if (!vocab.is_object() || vocab.empty()) {
    fail(ErrorCode::kCorruptFile, "tokenizer.json: \"vocab\" must be an object of tokens, got {}",
         vocab.type_name());
  }
  // Real files leave a few ids out; more would be memory on the word of one number.
  const std::uint64_t limit = 2 * vocab.size() + 1024;
  for (const auto& [token, id] : vocab.items()) {
    const std::int64_t number = token_id_of(id, token);
    if (static_cast<std::uint64_t>(number) >= limit) {
      fail(ErrorCode::kCorruptFile, "tokenizer.json: id {} of {} is far beyond {} tokens", number,
           quote(token), vocab.size());
    }
    vocabulary.add(number, token);
  }
}

void read_added_tokens(const json& document, Vocabulary& vocabulary,
                       TokenizerDefinition& definition) {
  const json& added_tokens = fields(document).array("added_tokens");
  const std::uint64_t limit = 2 * (vocabulary.size() + added_tokens.size()) + 1024;
  for (const json& added : added_tokens) {
    const std::string token = fields(added).string_or("content", "");
    const std::int64_t id = token_id_of(fields(added).value("id"), token);
    if (token.empty() || static_cast<std::uint64_t>(id) >= limit) {
      fail(ErrorCode::kCorruptFile,
           "tokenizer.json: added token {} is empty or far beyond the others", id);
    }
    if (fields(added).boolean_or("single_word", false))
      refuse("single_word (" + quote(token) + ")");
    vocabulary.add(id, token);
    vocabulary.set_type(id, fields(added).boolean_or("special", false) ? TokenType::kControl
                                                                       : TokenType::kUserDefined);
    const TokenMatching how{id, fields(added).boolean_or("lstrip", false),
                            fields(added).boolean_or("rstrip", false),
                            fields(added).boolean_or("normalized", false)};
    if (how.strip_left || how.strip_right || how.normalized) definition.matching.push_back(how);
  }
}

void read_merges(const json& model, TokenizerDefinition& definition) {
  const json& merges = fields(model).array("merges");
  definition.merges.reserve(merges.size());
  for (const json& merge : merges) {
    if (merge.is_array() && merge.size() == 2 && merge[0].is_string() && merge[1].is_string()) {
      definition.merges.emplace_back(merge[0].get<std::string>(), merge[1].get<std::string>());
      continue;
    }
    const std::string text = merge.is_string() ? merge.get<std::string>() : "";
    const std::size_t space = text.find(' ');
    if (space == std::string::npos || text.find(' ', space + 1) != std::string::npos) {
      fail(ErrorCode::kCorruptFile, "tokenizer.json: merge {} is not a pair of tokens",
           definition.merges.size());
    }
    definition.merges.emplace_back(text.substr(0, space), text.substr(space + 1));
  }
}

void read_model(const json& model, Vocabulary& vocabulary, TokenizerDefinition& definition) {
  const std::string type = fields(model).string_or("type", "BPE");
  if (type != "BPE") refuse("model " + quote(type));
  const json& dropout = fields(model).value("dropout");
  if (!dropout.is_null() && dropout != 0) refuse("dropout");
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!fields(model).string_or(affix, "").empty()) refuse(affix);
  }
  read_vocabulary(model, vocabulary);
  read_merges(model, definition);
  definition.byte_fallback = fields(model).boolean_or("byte_fallback", false);
  definition.fuse_unknown = fields(model).boolean_or("fuse_unk", false);
  definition.ignore_merges = fields(model).boolean_or("ignore_merges", false);
  const std::string unknown = fields(model).string_or("unk_token", "");
  if (unknown.empty()) return;
  definition.unknown_id = vocabulary.find(unknown);
  if (definition.unknown_id < 0) {
    fail(ErrorCode::kCorruptFile, "tokenizer.json: unk_token {} is not in the vocabulary",
         quote(unknown));
  }
}

void mark_byte_tokens(Vocabulary& vocabulary, const TokenizerDefinition& definition) {
  if (definition.kind != TokenizerKind::kSentencePiece || !definition.byte_fallback) return;
  for (int byte = 0; byte < 256; ++byte) {
    const std::int64_t id = vocabulary.find(fmt::format("<0x{:02X}>", byte));
    if (id >= 0) vocabulary.set_type(id, TokenType::kByte);
  }
}

// TemplateProcessing: the special tokens that stand around a single text.
void read_template(const json& processor, const Vocabulary& vocabulary,
                   TokenizerDefinition& definition) {
  bool after_text = false;
  for (const json& item : fields(processor).array("single")) {
    if (!fields(item).value("Sequence").is_null()) {
      after_text = true;
      continue;
    }
    const std::string name = fields(fields(item).value("SpecialToken")).string_or("id", "");
    const std::int64_t id = vocabulary.find(name);
    std::int64_t& place = after_text ? definition.eos_id : definition.bos_id;
    bool& is_added = after_text ? definition.add_eos : definition.add_bos;
    if (id < 0) {
      fail(ErrorCode::kCorruptFile, "tokenizer.json: post_processor names {}, which is no token",
           quote(name));
    }
    if (is_added) refuse("post_processor that adds several tokens on one side");
    place = id;
    is_added = true;
  }
}

void read_post_processor(const json& processor, const Vocabulary& vocabulary,
                         TokenizerDefinition& definition) {
  if (processor.is_null()) return;
  const std::string type = fields(processor).string_or("type", "");
  if (type == "Sequence") {
    for (const json& inner : fields(processor).array("processors")) {
      if (fields(inner).string_or("type", "") == "Sequence")
        refuse("post_processor Sequence in a Sequence");
      read_post_processor(inner, vocabulary, definition);
    }
  } else if (type == "TemplateProcessing") {
    read_template(processor, vocabulary, definition);
  } else if (type != "ByteLevel") {  // which only moves offsets
    refuse("post_processor " + quote(type));
  }
}

// The id of a token that tokenizer_config.json names, as "<s>" or {"content": "<s>"}; −1: none.
std::int64_t configured_id(const json& config, const char* key, const Vocabulary& vocabulary) {
  const json& value = fields(config).value(key);
  const std::string name = value.is_object() ? fields(value).string_or("content", "")
                                             : fields(config).string_or(key, "");
  if (name.empty()) return -1;
  const std::int64_t id = vocabulary.find(name);
  if (id < 0) {
    fail(ErrorCode::kCorruptFile, "tokenizer_config.json: {} {} is not in the vocabulary", key,
         quote(name));
  }
  return id;
}

void read_config(std::string_view text, bool has_post_processor, const Vocabulary& vocabulary,
                 TokenizerDefinition& definition) {
  const json config = parse_json_object(text, "tokenizer_config.json");
  const std::int64_t bos = configured_id(config, "bos_token", vocabulary);
  const std::int64_t eos = configured_id(config, "eos_token", vocabulary);
  if (bos >= 0) definition.bos_id = bos;
  if (eos >= 0) definition.eos_id = eos;
  // Where there is a post-processor, it is what adds tokens.
  if (has_post_processor) return;
  definition.add_bos = fields(config).boolean_or("add_bos_token", false) && definition.bos_id >= 0;
  definition.add_eos = fields(config).boolean_or("add_eos_token", false) && definition.eos_id >= 0;
}

}  // namespace

TokenizerDefinition tokenizer_from_json(std::string_view tokenizer_json,
                                        std::string_view tokenizer_config_json) {
  const json document = parse_json_object(tokenizer_json, "tokenizer.json");
  TokenizerDefinition definition;
  Vocabulary vocabulary;
  read_tokenizer_steps(document, definition);
  read_model(fields(document).value("model"), vocabulary, definition);
  mark_byte_tokens(vocabulary, definition);
  read_added_tokens(document, vocabulary, definition);
  const json& post_processor = fields(document).value("post_processor");
  read_post_processor(post_processor, vocabulary, definition);
  if (!tokenizer_config_json.empty()) {
    read_config(tokenizer_config_json, !post_processor.is_null(), vocabulary, definition);
  }
  vocabulary.finish(definition);
  find_end_ids(definition);
  return definition;
}

}  // namespace gumbel
