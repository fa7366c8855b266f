#include "text/tokenizer_definition.h"

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/quote.h"

namespace gumbel {
namespace {

// Patterns that several tokenizers share. Each is that of the tokenizer.json files it comes from.
constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 = R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
                                    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
    R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

struct NamedPreTokenizer {
  std::string_view name;
  std::vector<std::string_view> patterns;
  Normalization normalization = Normalization::kNone;
  bool ignore_merges = false;
};

// To add one: its name in GGUF files, and what its tokenizer.json does.
const std::vector<NamedPreTokenizer>& named_pre_tokenizers() {
  static const std::vector<NamedPreTokenizer> table = {
      // What llama.cpp does with files that name no pre-tokenizer.
      {"default", {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
      {"gpt-2", {kGpt2}},
      {"llama-bpe", {kLlama3}, Normalization::kNone, true},
      {"smaug-bpe", {kLlama3}},
      {"qwen2", {kQwen2}, Normalization::kNfc},
      {"qwen35", {kQwen35}, Normalization::kNfc},
      {"smollm", {R"(\p{N})", kGpt2}},
  };
  return table;
}

// Names that stand for one of the above: other models' tokenizers that do the same (llama.cpp's
// llama-vocab.cpp treats each pair alike).
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"llama3", "llama-bpe"},    {"llama-v3", "llama-bpe"}, {"falcon3", "llama-bpe"},
    {"falcon-h1", "llama-bpe"}, {"pixtral", "llama-bpe"},  {"midm-2.0", "llama-bpe"},
    {"lfm2", "llama-bpe"},      {"megrez", "qwen2"},       {"deepseek-r1-qwen", "qwen2"},
    {"kormo", "qwen2"},         {"f2llmv2", "qwen2"},
};

// Names of control tokens after which a model has no more to say.
constexpr std::string_view kEndNames[] = {
    "</s>",       "<eos>",      "<|endoftext|>",    "<|end_of_text|>",
    "<|im_end|>", "<|eot_id|>", "<|eom_id|>",       "<end_of_turn>",
    "<turn|>",    "<|end|>",    "<|tool_response>",
};

// Gemma 4's markers of thoughts and tool calls.
constexpr std::string_view kGemma4Markers[] = {
    "<|channel>",       "<channel|>",       "<|tool_call>", "<tool_call|>",
    "<|tool_response>", "<tool_response|>", "<|\"|>",
};

template <std::size_t kSize>
bool is_one_of(const std::string_view (&names)[kSize], std::string_view name) {
  return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace

void mark_control_tokens(TokenizerDefinition& definition) {
  const auto turn = std::find(definition.tokens.begin(), definition.tokens.end(), "<|turn>");
  if (turn == definition.tokens.end() ||
      definition.types[static_cast<std::size_t>(turn - definition.tokens.begin())] !=
          TokenType::kControl)
    return;
  for (std::size_t i = 0; i < definition.types.size(); ++i)
    if (definition.types[i] == TokenType::kUserDefined &&
        is_one_of(kGemma4Markers, definition.tokens[i]))
      definition.types[i] = TokenType::kControl;
}

void find_end_ids(TokenizerDefinition& definition) {
  auto& ids = definition.end_ids;
  if (definition.eos_id >= 0) ids.push_back(definition.eos_id);
  const std::size_t count = std::min(definition.tokens.size(), definition.types.size());
  for (std::size_t i = 0; i < count; ++i) {
    if (definition.types[i] != TokenType::kControl) continue;
    if (is_one_of(kEndNames, definition.tokens[i])) ids.push_back(static_cast<std::int64_t>(i));
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
}

std::string_view canonical_pre_tokenizer(std::string_view name) {
  for (const auto& [alias, canonical] : kAliases)
    if (alias == name) return canonical;
  return name;
}

void set_pre_tokenizer(TokenizerDefinition& definition, const std::string& name) {
  const std::string_view canonical = canonical_pre_tokenizer(name);
  std::string known;
  for (const NamedPreTokenizer& entry : named_pre_tokenizers()) {
    if (entry.name == canonical) {
      definition.pre_tokenizer.clear();
      for (const auto pattern : entry.patterns) {
        definition.pre_tokenizer.push_back({std::string(pattern)});
      }
      definition.normalization = entry.normalization;
      definition.ignore_merges = entry.ignore_merges;
      return;
    }
    known += known.empty() ? "" : ", ";
    known += entry.name;
  }
  fail(ErrorCode::kUnsupported, "pre-tokenizer \"{}\" is not supported; expected one of {}",
       quote(name), known);
}

}  // namespace gumbel
