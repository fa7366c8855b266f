// GGUF files: the container, then the hyperparameters, the tokenizer and the chat template in it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"
#include "export/gguf/config.h"
#include "export/gguf/file.h"
#include "export/gguf/tokenizer_keys.h"
#include "fuzz/input_file.h"
#include "text/tokenizer.h"
#include "text/tokenizer_record.h"

namespace {

/// Calls `read`; what a reader refuses, the next may still take.
template <typename Read>
void tolerate_errors(const Read& read) {
  try {
    read();
  } catch (const gumbel::Error&) {
  }
}

void read_file(const gumbel::GgufFile& file) {
  tolerate_errors([&] { (void)read_gguf_config(file); });
  tolerate_errors([&] { (void)read_gguf_chat_template(file); });
  tolerate_errors([&] {
    std::vector<std::string> notes;
    const auto definition = read_gguf_tokenizer(file, notes);
    if (!definition) return;
    const auto record = serialize_tokenizer(*definition);
    const gumbel::Tokenizer tokenizer(record);
    (void)tokenizer.decode(tokenizer.encode("Hello, world 123"));
  });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const gumbel::InputFile input(bytes, size);
  tolerate_errors([&] { read_file(gumbel::GgufFile(input.path())); });
  return 0;
}
