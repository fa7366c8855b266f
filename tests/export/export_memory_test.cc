// How much memory an export takes.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/cpu/cpu_backend.h"
#include "export/export.h"
#include "export/test_files.h"
#include "program/program_file.h"

namespace gumbel {
namespace {

using test::TemporaryFolder;

constexpr int64_t kVocab = 65536;
constexpr int64_t kWidth = 1024;
constexpr int64_t kHidden = 32;

/// A checkpoint of one layer whose table and MLP are large, of zeros that take no space on a disk.
/// Returns the bytes of its weights.
uint64_t write_sparse_checkpoint(const TemporaryFolder& folder) {
  folder.write("config.json", fmt::format(R"({{"architectures": ["LlamaForCausalLM"],
      "model_type": "llama", "vocab_size": {}, "hidden_size": {}, "intermediate_size": {},
      "num_hidden_layers": 1, "num_attention_heads": 1, "num_key_value_heads": 1, "head_dim": {},
      "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
      "tie_word_embeddings": true, "hidden_act": "silu"}})",
                                          kVocab, kWidth, kVocab / 2, kHidden));
  uint64_t end = 0;
  std::string header;
  const auto add = [&](const std::string& name, const std::string& shape, int64_t elements) {
    const uint64_t begin = end;
    end += static_cast<uint64_t>(elements) * 2;
    header += fmt::format(R"({}"{}":{{"dtype":"BF16","shape":[{}],"data_offsets":[{},{}]}})",
                          header.empty() ? "{" : ",", name, shape, begin, end);
  };
  const auto matrix = [&](const std::string& name, int64_t rows, int64_t columns) {
    add(name, fmt::format("{},{}", rows, columns), rows * columns);
  };
  const std::string layer = "model.layers.0.";
  matrix("model.embed_tokens.weight", kVocab, kWidth);
  add("model.norm.weight", std::to_string(kWidth), kWidth);
  add(layer + "input_layernorm.weight", std::to_string(kWidth), kWidth);
  add(layer + "post_attention_layernorm.weight", std::to_string(kWidth), kWidth);
  for (const char* name : {"q", "k", "v"})
    matrix(fmt::format("{}self_attn.{}_proj.weight", layer, name), kHidden, kWidth);
  matrix(layer + "self_attn.o_proj.weight", kWidth, kHidden);
  matrix(layer + "mlp.gate_proj.weight", kVocab / 2, kWidth);
  matrix(layer + "mlp.up_proj.weight", kVocab / 2, kWidth);
  matrix(layer + "mlp.down_proj.weight", kWidth, kVocab / 2);
  header += "}";
  const uint64_t length = header.size();
  std::string start(reinterpret_cast<const char*>(&length), 8);
  const auto path = folder.write("model.safetensors", start + header);
  std::filesystem::resize_file(path, 8 + header.size() + end);
  return end;
}

// In a process of its own, as the largest resident size is one of the process.
TEST(ExportMemory, IsBoundedWhateverTheCheckpoint) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer keeps freed memory";
#endif
  const TemporaryFolder folder;
  const uint64_t bytes = write_sparse_checkpoint(folder);
  ASSERT_GT(bytes, uint64_t{320} << 20);
  const auto path = folder.path() / "p.gumbel";
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      ExportOptions options;
      options.quantization = Quantization::kQ4;
      options.threads = 2;
      export_program(import_model(folder.path().string()), options,
                     cpu::CpuBackend(cpu::CpuTarget::kScalar, 1), path);
      ::_exit(0);
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      ::_exit(1);
    }
  }
  int status = -1;
  rusage usage{};
  ASSERT_EQ(::wait4(child, &status, 0, &usage), child);
  ASSERT_EQ(status, 0);
  EXPECT_LT(usage.ru_maxrss, 128 << 10);  // KiB; measured: 42 MiB
  EXPECT_EQ(ProgramFile(path).program().weights.size(), 12u);
}

}  // namespace
}  // namespace gumbel
