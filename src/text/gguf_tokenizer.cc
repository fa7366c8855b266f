#include "text/gguf_tokenizer.h"

#include "base/error.h"
#include "base/quote.h"

namespace gumbel {
namespace {

std::vector<TokenType> token_types(const GgufTokenizer& source) {
  if (source.token_types.empty()) {
    return std::vector<TokenType>(source.tokens.size(), TokenType::kNormal);
  }
  if (source.token_types.size() != source.tokens.size()) {
    fail(ErrorCode::kCorruptFile, "tokenizer.ggml.token_type: expected {} values, got {}",
         source.tokens.size(), source.token_types.size());
  }
  std::vector<TokenType> types;
  types.reserve(source.token_types.size());
  for (std::size_t i = 0; i < source.token_types.size(); ++i) {
    const std::int32_t type = source.token_types[i];
    if (type < 0 || type > 6) {
      fail(ErrorCode::kCorruptFile,
           "tokenizer.ggml.token_type: expected 0 to 6, got {} for token {}", type, i);
    }
    // 0 is "undefined", which no reader distinguishes from normal.
    types.push_back(type == 0 ? TokenType::kNormal : static_cast<TokenType>(type));
  }
  return types;
}

std::pair<std::string, std::string> split_merge(const std::string& merge, std::size_t index) {
  // The first part is never empty, so that it may itself begin with a space.
  const std::size_t space = merge.find(' ', 1);
  if (merge.empty() || space == std::string::npos || space + 1 == merge.size()) {
    fail(ErrorCode::kCorruptFile, "tokenizer.ggml.merges: expected \"left right\", got {} at {}",
         quote(merge), index);
  }
  return {merge.substr(0, space), merge.substr(space + 1)};
}

std::vector<std::pair<std::string, std::string>> merges(const GgufTokenizer& source) {
  if (source.merges.empty()) {
    fail(ErrorCode::kCorruptFile, "tokenizer.ggml.merges: a {} tokenizer needs merges, got none",
         source.model);
  }
  std::vector<std::pair<std::string, std::string>> result;
  result.reserve(source.merges.size());
  for (std::size_t i = 0; i < source.merges.size(); ++i) {
    result.push_back(split_merge(source.merges[i], i));
  }
  return result;
}

bool is_token(const GgufTokenizer& source, std::int64_t id) {
  return id >= 0 && id < static_cast<std::int64_t>(source.tokens.size());
}

// Ids that name no token are as good as none: real files have such.
void drop_wrong_ids(GgufTokenizer& source, std::vector<std::string>* notes) {
  const std::pair<std::optional<std::int64_t>*, const char*> ids[] = {
      {&source.bos_id, "bos"},
      {&source.eos_id, "eos"},
      {&source.eot_id, "eot"},
      {&source.eom_id, "eom"},
      {&source.unknown_id, "unknown"}};
  for (const auto& [id, name] : ids) {
    if (!*id || is_token(source, **id)) continue;
    if (notes != nullptr) {
      notes->push_back(
          fmt::format("tokenizer.ggml.{}_token_id: expected 0 to {}, got {}: taken as absent", name,
                      source.tokens.size() - 1, **id));
    }
    id->reset();
  }
}

// A default id, where the vocabulary is large enough to have it.
std::optional<std::int64_t> default_id(const GgufTokenizer& source, std::int64_t id) {
  if (is_token(source, id)) return id;
  return {};
}

}  // namespace

TokenizerDefinition tokenizer_from_gguf(GgufTokenizer source, std::vector<std::string>* notes) {
  if (source.tokens.empty()) {
    fail(ErrorCode::kCorruptFile, "tokenizer.ggml.tokens: expected at least one token, got none");
  }
  drop_wrong_ids(source, notes);
  TokenizerDefinition definition;
  definition.types = token_types(source);
  if (source.model == "gpt2") {
    definition.kind = TokenizerKind::kByteLevel;
    definition.byte_fallback = false;
    set_pre_tokenizer(definition, source.pre.empty() ? "default" : source.pre);
    definition.add_bos =
        source.add_bos.value_or(canonical_pre_tokenizer(source.pre) == "llama-bpe");
    definition.merges = merges(source);
  } else if (source.model == "gemma4") {
    // Gemma's own: characters with merges, "▁" for a space, bytes for what has no token.
    definition.kind = TokenizerKind::kSentencePiece;
    definition.add_bos = source.add_bos.value_or(true);
    definition.merges = merges(source);
  } else if (source.model == "llama") {
    if (!source.pre.empty() && source.pre != "default") {
      fail(ErrorCode::kUnsupported,
           "pre-tokenizer \"{}\" is not supported with tokenizer model \"llama\"; expected default",
           quote(source.pre));
    }
    if (source.scores.size() != source.tokens.size()) {
      fail(ErrorCode::kCorruptFile, "tokenizer.ggml.scores: expected {} values, got {}",
           source.tokens.size(), source.scores.size());
    }
    definition.kind = TokenizerKind::kSentencePiece;
    definition.scores = std::move(source.scores);
    definition.add_bos = source.add_bos.value_or(true);
    if (source.add_space_prefix.value_or(true)) {
      definition.space_prefix = SpacePrefix::kAlways;
      definition.decode_strips_prefix = true;
    }
    if (!source.unknown_id) source.unknown_id = default_id(source, 0);
    if (!source.bos_id) source.bos_id = default_id(source, 1);
    if (!source.eos_id) source.eos_id = default_id(source, 2);
  } else {
    fail(ErrorCode::kUnsupported,
         "tokenizer model \"{}\" is not supported; expected gpt2, llama or gemma4",
         quote(source.model));
  }
  definition.add_eos = source.add_eos.value_or(false);
  definition.bos_id = source.bos_id.value_or(-1);
  definition.eos_id = source.eos_id.value_or(-1);
  definition.unknown_id = source.unknown_id.value_or(-1);
  definition.add_bos = definition.add_bos && definition.bos_id >= 0;
  definition.add_eos = definition.add_eos && definition.eos_id >= 0;
  for (const auto& id : {source.eot_id, source.eom_id}) {
    if (id) definition.end_ids.push_back(*id);
  }
  definition.tokens = std::move(source.tokens);
  mark_control_tokens(definition);
  find_end_ids(definition);
  return definition;
}

}  // namespace gumbel
