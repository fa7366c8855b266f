#include "export/gguf/config_reading.h"

#include "export/gguf/config.h"
#include "export/test_files.h"

namespace gumbel::test {

ModelConfig read_config(const std::string& architecture,
                        const std::function<void(GgufWriter&)>& more) {
  const TemporaryFolder folder;
  GgufWriter writer;
  writer.add_string("general.architecture", architecture);
  writer.add_u32(architecture + ".embedding_length", 32);
  writer.add_u32(architecture + ".block_count", 12);
  writer.add_u32(architecture + ".attention.head_count", 4);
  writer.add_u32(architecture + ".context_length", 64);
  writer.add_f32(architecture + ".attention.layer_norm_rms_epsilon", 0x1p-20f);
  writer.add_f32_tensor("token_embd.weight", {32, 10}, std::vector<float>(320));
  more(writer);
  return read_gguf_config(GgufFile(folder.write("model.gguf", writer.bytes())));
}

}  // namespace gumbel::test
