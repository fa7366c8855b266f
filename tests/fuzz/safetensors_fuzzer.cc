// Safetensors files: the header, then every tensor's elements.
#include <cstddef>
#include <cstdint>

#include "base/error.h"
#include "export/huggingface/safetensors_file.h"
#include "fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const gumbel::InputFile input(bytes, size);
  try {
    const gumbel::SafetensorsFile file(input.path());
    for (const auto& [name, tensor] : file.tensors()) {
      if (tensor.dtype == "F32") (void)file.read_f32(name);
      if (tensor.dtype == "I64") (void)file.read_i64(name);
    }
  } catch (const gumbel::Error&) {
  }
  return 0;
}
