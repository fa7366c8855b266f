#include "export/gguf/tokenizer_keys.h"

#include <utility>

#include "base/error.h"
#include "base/quote.h"
#include "text/gguf_tokenizer.h"

namespace gumbel {

std::optional<TokenizerDefinition> read_gguf_tokenizer(const GgufFile& file,
                                                       std::vector<std::string>& notes) {
  const std::string prefix = "tokenizer.ggml.";
  const auto model = file.string(prefix + "model");
  if (!model || *model == "none" || *model == "no_vocab") return std::nullopt;
  GgufTokenizer tokenizer;
  tokenizer.model = *model;
  tokenizer.pre = file.string(prefix + "pre").value_or("");
  for (const auto token : file.strings(prefix + "tokens").value_or(std::vector<std::string_view>{}))
    tokenizer.tokens.emplace_back(token);
  tokenizer.scores = file.numbers(prefix + "scores").value_or(std::vector<float>{});
  for (const int64_t type : file.integers(prefix + "token_type").value_or(std::vector<int64_t>{})) {
    if (type < 0 || type > 6)
      fail(ErrorCode::kCorruptFile, "{}: {}token_type: expected types of 0 to 6, got {}",
           file.name(), prefix, type);
    tokenizer.token_types.push_back(static_cast<int32_t>(type));
  }
  for (const auto merge : file.strings(prefix + "merges").value_or(std::vector<std::string_view>{}))
    tokenizer.merges.emplace_back(merge);
  tokenizer.bos_id = file.integer(prefix + "bos_token_id");
  tokenizer.eos_id = file.integer(prefix + "eos_token_id");
  tokenizer.eot_id = file.integer(prefix + "eot_token_id");
  tokenizer.eom_id = file.integer(prefix + "eom_token_id");
  tokenizer.unknown_id = file.integer(prefix + "unknown_token_id");
  tokenizer.add_bos = file.boolean(prefix + "add_bos_token");
  tokenizer.add_eos = file.boolean(prefix + "add_eos_token");
  tokenizer.add_space_prefix = file.boolean(prefix + "add_space_prefix");
  return with_file_name(file.name(),
                        [&] { return tokenizer_from_gguf(std::move(tokenizer), &notes); });
}

std::string read_gguf_chat_template(const GgufFile& file) {
  return std::string(file.string("tokenizer.chat_template").value_or(""));
}

}  // namespace gumbel
