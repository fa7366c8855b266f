// Headers of program files: decoded, verified, and the tokenizer in them used. Without the
// preamble, whose checksum no change would match.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/error.h"
#include "program/header.h"
#include "program/program.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  constexpr std::uint64_t kFileBytes = std::uint64_t{1} << 40U;
  const auto input = std::as_bytes(std::span(bytes, size));
  const std::vector<std::byte> header(input.begin(), input.end());
  try {
    const gumbel::Program program = gumbel::decode_header(header);
    verify(program, kFileBytes);
    if (program.tokenizer.empty()) return 0;
    const gumbel::Tokenizer tokenizer(program.tokenizer);
    (void)tokenizer.decode(tokenizer.encode("Hello, world 123"));
  } catch (const gumbel::Error&) {
  }
  return 0;
}
