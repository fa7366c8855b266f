// tokenizer.json: read, written as a record, and a text encoded and decoded with it.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json.h"
#include "text/tokenizer_record.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(bytes), size);
  try {
    const auto record = serialize_tokenizer(gumbel::tokenizer_from_json(input));
    const gumbel::Tokenizer tokenizer(record);
    constexpr std::string_view kText =
        "Hello, it's  12345 w\xc3\xb6rlds \xe6\x97\xa5\n\n<|im_end|>\xff";
    (void)tokenizer.decode(tokenizer.encode(kText, gumbel::ControlTokens::kParse));
    // What was accepted encodes every text that a person may write, this one too.
    (void)tokenizer.decode(tokenizer.encode(input.substr(0, 256)));
  } catch (const gumbel::Error&) {
  }
  return 0;
}
