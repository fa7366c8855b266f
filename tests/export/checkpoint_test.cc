#include "export/checkpoint.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "base/float16.h"
#include "export/gguf/checkpoint.h"
#include "export/gguf/config.h"
#include "export/gguf/tiny_gguf.h"
#include "export/gguf/writer.h"
#include "export/huggingface/safetensors_checkpoint.h"
#include "export/random_checkpoint.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using test::data_path;
using test::encode;
using test::expect_error;
using test::GgufWriter;
using test::TemporaryFolder;

std::unique_ptr<Checkpoint> open_gguf(const TemporaryFolder& folder, const GgufWriter& writer) {
  const auto file = std::make_shared<const GgufFile>(folder.write("m.gguf", writer.bytes()));
  return gguf_checkpoint(file, read_gguf_config(*file));
}

// llama.cpp's converter writes W.reshape(heads, 2, head_dim / 2, columns).swapaxes(1, 2): the file
// has, for every head, row i of the first half and then row i of the second. tiny_llama's rows have
// their place in the file as their scale.
TEST(GgufCheckpoint, QueryAndKeyRowsAreInHalfSplitOrder) {
  const TemporaryFolder folder;
  const auto checkpoint = open_gguf(folder, test::tiny_llama());
  constexpr int64_t kHeadDim = 16;
  for (const auto& [name, heads] :
       std::vector<std::pair<std::string, int64_t>>{{"q", 2}, {"k", 1}}) {
    const CheckpointTensor& tensor = checkpoint->tensor(
        "model.layers.0.self_attn." + name + "_proj.weight", {heads * kHeadDim, 32});
    WeightRows rows;
    tensor.read_rows(0, heads * kHeadDim, rows);
    float place = 0;
    for (int64_t head = 0; head < heads; ++head)
      for (int64_t i = 0; i < kHeadDim / 2; ++i)
        for (int64_t half = 0; half < 2; ++half) {
          const int64_t row = head * kHeadDim + half * kHeadDim / 2 + i;
          EXPECT_EQ(rows.scale[static_cast<size_t>(row)], ++place) << name << " row " << row;
        }
    WeightRows piece;
    for (int64_t row = 0; row < heads * kHeadDim; ++row) {
      tensor.read_rows(row, 1, piece);
      EXPECT_EQ(piece.scale[0], rows.scale[static_cast<size_t>(row)]);
    }
  }
}

TEST(GgufCheckpoint, OtherRowsKeepTheirOrder) {
  const TemporaryFolder folder;
  const auto checkpoint = open_gguf(folder, test::tiny_llama());
  for (const char* name : {"model.layers.0.self_attn.v_proj.weight"}) {
    WeightRows rows;
    checkpoint->tensor(name, {16, 32}).read_rows(3, 10, rows);
    EXPECT_EQ(rows.type, WeightType::kQ4_0);
    EXPECT_EQ(rows.rows, 10);
    for (size_t row = 0; row < 10; ++row) EXPECT_EQ(rows.scale[row], static_cast<float>(row + 4));
    // Byte 0x98: codes 8 (low half, first 16 columns) and 9, which stand for 0 and 1.
    EXPECT_EQ(element(rows, 0, 0), 0.0f);
    EXPECT_EQ(element(rows, 0, 16), 4.0f);
  }
}

TEST(GgufCheckpoint, EveryTensorHasItsHuggingFaceName) {
  const std::vector<std::pair<std::string, std::string>> common = {
      {"token_embd.weight", "model.embed_tokens.weight"},
      {"output_norm.weight", "model.norm.weight"},
      {"output.weight", "lm_head.weight"},
      {"blk.11.attn_norm.weight", "model.layers.11.input_layernorm.weight"},
      {"blk.11.attn_q.weight", "model.layers.11.self_attn.q_proj.weight"},
      {"blk.11.attn_k.weight", "model.layers.11.self_attn.k_proj.weight"},
      {"blk.11.attn_v.weight", "model.layers.11.self_attn.v_proj.weight"},
      {"blk.11.attn_output.weight", "model.layers.11.self_attn.o_proj.weight"},
      {"blk.11.ffn_gate.weight", "model.layers.11.mlp.gate_proj.weight"},
      {"blk.11.ffn_up.weight", "model.layers.11.mlp.up_proj.weight"},
      {"blk.11.ffn_down.weight", "model.layers.11.mlp.down_proj.weight"},
  };
  const std::vector<std::pair<std::string, std::string>> norms = {
      {"blk.11.attn_q_norm.weight", "model.layers.11.self_attn.q_norm.weight"},
      {"blk.11.attn_k_norm.weight", "model.layers.11.self_attn.k_norm.weight"},
  };
  const std::vector<std::pair<std::string, std::string>> two = {
      {"blk.11.ffn_norm.weight", "model.layers.11.post_attention_layernorm.weight"}};
  const std::vector<std::pair<std::string, std::string>> four = {
      {"blk.11.post_attention_norm.weight", "model.layers.11.post_attention_layernorm.weight"},
      {"blk.11.ffn_norm.weight", "model.layers.11.pre_feedforward_layernorm.weight"},
      {"blk.11.post_ffw_norm.weight", "model.layers.11.post_feedforward_layernorm.weight"},
  };
  const TemporaryFolder folder;
  ModelConfig config;
  config.head_dim = 2;
  config.layers = 12;
  for (const std::string architecture : {"llama", "qwen3", "gemma3"}) {
    SCOPED_TRACE(architecture);
    auto names = common;
    if (architecture != "llama") names.insert(names.end(), norms.begin(), norms.end());
    const auto& own = architecture == "gemma3" ? four : two;
    names.insert(names.end(), own.begin(), own.end());
    GgufWriter writer;
    float number = 0;
    for (const auto& [gguf, _] : names) {
      ++number;
      writer.add_f32_tensor(gguf, {1, 2}, {number, number});
    }
    writer.add_f32_tensor("rope_freqs.weight", {1}, {1});
    config.architecture = architecture;
    const auto file = std::make_shared<const GgufFile>(folder.write("m.gguf", writer.bytes()));
    const auto checkpoint = gguf_checkpoint(file, config);
    number = 0;
    for (const auto& [_, hugging_face] : names) {
      WeightRows row;
      ASSERT_TRUE(checkpoint->has(hugging_face)) << hugging_face;
      checkpoint->tensor(hugging_face, {2, 1}).read_rows(0, 1, row);
      EXPECT_EQ(row.floats[0], ++number) << hugging_face;
    }
  }
}

TEST(GgufCheckpoint, TensorsThatTheFamilyLacksAreNamed) {
  for (const char* name :
       {"blk.0.attn_q.bias", "blk.0.ffn_gate_inp.weight", "blk.x.attn_q.weight",
        "blk.0.attn_q_norm.weight", "blk.", "blk..attn_q.weight", "", "blk.1.attn_q.weight",
        "blk.00.attn_q.weight", "blk.-1.attn_q.weight", "blk.4294967296.attn_q.weight",
        "blk.0attn_q.weight", "blk.0", "per_layer_token_embd.weight"}) {
    const TemporaryFolder folder;
    GgufWriter writer = test::tiny_llama();
    writer.add_f32_tensor(name, {1}, {1});
    expect_error(ErrorCode::kUnsupported,
                 "tensor '" + std::string(name) + "' is not part of architecture llama",
                 [&] { open_gguf(folder, writer); });
  }
}

TEST(GgufCheckpoint, MissingAndMisshapenTensorsAreNamed) {
  const TemporaryFolder folder;
  const auto checkpoint = open_gguf(folder, test::tiny_llama());
  EXPECT_FALSE(checkpoint->has("lm_head.weight"));
  expect_error(ErrorCode::kNotFound, "m.gguf: tensor 'lm_head.weight' is missing",
               [&] { checkpoint->tensor("lm_head.weight", {8, 32}); });
  expect_error(ErrorCode::kCorruptFile,
               "tensor 'model.norm.weight': expected shape [1, 32], got [32]",
               [&] { checkpoint->tensor("model.norm.weight", {1, 32}); });
  WeightRows rows;
  const CheckpointTensor& tensor = checkpoint->tensor("model.embed_tokens.weight", {8, 32});
  for (const auto& [first, count] : std::vector<std::pair<int64_t, int64_t>>{
           {0, 9}, {8, 1}, {-1, 2}, {1, -1}, {9, 0}, {1, INT64_MAX}})
    expect_error(ErrorCode::kInvalidArgument, "expected rows within the 8",
                 [&] { tensor.read_rows(first, count, rows); });
}

TEST(GgufCheckpoint, HeadsMustDivideQueryRows) {
  const TemporaryFolder folder;
  ModelConfig config;
  config.architecture = "llama";
  config.layers = 1;
  config.head_dim = 4;
  GgufWriter writer;
  writer.add_f32_tensor("blk.0.attn_q.weight", {1, 6}, {1, 2, 3, 4, 5, 6});
  const auto file = std::make_shared<const GgufFile>(folder.write("m.gguf", writer.bytes()));
  expect_error(ErrorCode::kCorruptFile, "expected rows of a multiple of 4, got 6",
               [&] { gguf_checkpoint(file, config); });
}

ModelConfig config_of(const std::string& architecture) {
  ModelConfig config;
  config.architecture = architecture;
  return config;
}

TEST(SafetensorsCheckpoint, NormsOfGemmaAreOnePlusTheWeight) {
  const auto path = data_path("models/gemma3/model.safetensors");
  const SafetensorsFile raw(path);
  const auto gemma = safetensors_checkpoint(SafetensorsFile(path), config_of("gemma3"), "g");
  const auto plain = safetensors_checkpoint(SafetensorsFile(path), config_of("llama"), "g");
  int norms = 0;
  for (const auto& [name, tensor] : raw.tensors()) {
    if (tensor.shape.size() != 1) continue;
    SCOPED_TRACE(name);
    ++norms;
    WeightRows row;
    gemma->tensor(name, tensor.shape).read_rows(0, 1, row);
    ASSERT_EQ(row.type, WeightType::kF32);
    WeightRows stored;
    plain->tensor(name, tensor.shape).read_rows(0, 1, stored);
    ASSERT_EQ(stored.type, WeightType::kBF16);
    for (size_t i = 0; i < row.floats.size(); ++i) {
      uint16_t bits;
      std::memcpy(&bits, tensor.data.data() + 2 * i, 2);
      EXPECT_EQ(row.floats[i], 1.0f + bf16_to_f32(bits));
      EXPECT_EQ(stored.halves[i], bits);
    }
  }
  EXPECT_EQ(norms, 7 * 6 + 1);
}

TEST(SafetensorsCheckpoint, ReadsRowsOfMatricesAsStored) {
  const auto path = data_path("models/llama/model.safetensors");
  const SafetensorsFile raw(path);
  const auto checkpoint = safetensors_checkpoint(SafetensorsFile(path), config_of("llama"), "l");
  WeightRows rows;
  checkpoint->tensor("model.layers.1.mlp.down_proj.weight", {64, 160}).read_rows(5, 3, rows);
  ASSERT_EQ(rows.type, WeightType::kBF16);
  EXPECT_EQ(rows.rows, 3);
  EXPECT_EQ(rows.columns, 160);
  EXPECT_EQ(std::memcmp(rows.halves.data(),
                        raw.find("model.layers.1.mlp.down_proj.weight")->data.data() + 5 * 160 * 2,
                        3 * 160 * 2),
            0);
}

TEST(SafetensorsCheckpoint, PrefixesOfMultimodalFilesAreTakenOff) {
  const TemporaryFolder folder;
  std::string header, data;
  float number = 0;
  for (const char* name : {"language_model.model.a.weight", "model.language_model.b.weight",
                           "language_model.lm_head.weight", "vision_tower.c.weight"}) {
    header += std::string(header.empty() ? "{" : ",") + "\"" + name +
              R"(":{"dtype":"F32","shape":[1],"data_offsets":[)" + std::to_string(data.size()) +
              "," + std::to_string(data.size() + 4) + "]}";
    data += encode(++number);
  }
  header += "}";
  const auto checkpoint =
      safetensors_checkpoint(SafetensorsFile(folder.write(
                                 "m.safetensors", encode<uint64_t>(header.size()) + header + data)),
                             config_of("gemma3"), "m");
  number = 0;
  for (const char* name : {"model.a.weight", "model.b.weight", "lm_head.weight"}) {
    WeightRows row;
    checkpoint->tensor(name, {1}).read_rows(0, 1, row);
    EXPECT_EQ(row.floats[0], ++number) << name;
  }
  EXPECT_FALSE(checkpoint->has("vision_tower.c.weight"));
}

TEST(SafetensorsCheckpoint, OtherDtypesAreRefusedWhenUsed) {
  for (const std::string dtype : {"F64", "I64"}) {
    const TemporaryFolder folder;
    const std::string header =
        R"({"w":{"dtype":")" + dtype + R"(","shape":[1],"data_offsets":[0,8]}})";
    const auto checkpoint = safetensors_checkpoint(
        SafetensorsFile(folder.write(
            "m.safetensors", encode<uint64_t>(header.size()) + header + std::string(8, '\0'))),
        config_of("llama"), "m.safetensors");
    EXPECT_TRUE(checkpoint->has("w"));
    expect_error(ErrorCode::kUnsupported,
                 "m.safetensors: tensor 'w': expected dtype F32, F16 or BF16, got " + dtype,
                 [&] { checkpoint->tensor("w", {1}); });
  }
}

// Bytes of files that this process has in memory.
size_t resident_file_bytes() {
  std::ifstream status("/proc/self/status");
  std::string key;
  size_t kilobytes = 0;
  while (status >> key)
    if (key == "RssFile:") status >> kilobytes;
  return kilobytes * 1024;
}

// 16 MiB are read in pieces of which none is a whole number of pages.
void expect_released(const Checkpoint& checkpoint, const std::string& name) {
  const CheckpointTensor& tensor = checkpoint.tensor(name, {4099, 1023});
  constexpr size_t kBytes = size_t{4099} * 1023 * 4;
  const auto read = [&](bool releases) {
    WeightRows rows;
    for (int64_t first = 0; first < 4099; first += 100) {
      const int64_t count = std::min<int64_t>(100, 4099 - first);
      tensor.read_rows(first, count, rows);
      EXPECT_EQ(rows.floats.back(), static_cast<float>(first + count - 1));
      if (releases) tensor.release_rows(first, count);
    }
  };
  // A fault also maps pages around it, up to 64 KiB: of 41 pieces, 2.6 MiB may be mapped again.
  const size_t before = resident_file_bytes();
  read(false);
  EXPECT_GT(resident_file_bytes(), before + kBytes / 2);
  tensor.release_rows(0, 4099);
  EXPECT_LT(resident_file_bytes(), before + kBytes / 3);
  read(true);
  EXPECT_LT(resident_file_bytes(), before + kBytes / 3);
  expect_error(ErrorCode::kInvalidArgument, "expected rows within the 4099",
               [&] { tensor.release_rows(4000, 100); });
}

TEST(CheckpointMemory, ReleasedRowsLeaveIt) {
  std::vector<float> values(size_t{4099} * 1023);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i / 1023);
  const TemporaryFolder folder;
  const std::string header =
      R"({"w":{"dtype":"F32","shape":[4099,1023],"data_offsets":[0,16773108]}})";
  const std::string data(reinterpret_cast<const char*>(values.data()), values.size() * 4);
  expect_released(*safetensors_checkpoint(
                      SafetensorsFile(folder.write(
                          "m.safetensors", encode<uint64_t>(header.size()) + header + data)),
                      config_of("llama"), "m"),
                  "w");
  GgufWriter writer = test::tiny_llama();
  writer.add_f32_tensor("output.weight", {1023, 4099}, values);
  expect_released(*open_gguf(folder, writer), "lm_head.weight");
}

TEST(RandomCheckpoint, IsAFunctionOfNameAndIndex) {
  const auto first = random_checkpoint();
  const auto second = random_checkpoint();
  EXPECT_TRUE(first->has("model.layers.7.mlp.up_proj.weight"));
  EXPECT_FALSE(first->has("model.layers.7.self_attn.q_proj.bias"));
  WeightRows whole, piece, other;
  first->tensor("a.weight", {8, 64}).read_rows(0, 8, whole);
  EXPECT_EQ(whole.type, WeightType::kBF16);
  for (int64_t row = 0; row < 8; ++row) {
    second->tensor("a.weight", {8, 64}).read_rows(row, 1, piece);
    EXPECT_TRUE(
        std::equal(piece.halves.begin(), piece.halves.end(), whole.halves.begin() + row * 64));
  }
  first->tensor("b.weight", {8, 64}).read_rows(0, 8, other);
  EXPECT_NE(other.halves, whole.halves);
}

// For 65,536 uniform weights of variance 1/64 the mean's standard deviation is 0.0005 and the
// relative one of the mean square is sqrt(0.8 / 65536) = 0.0035; six of each are allowed.
TEST(RandomCheckpoint, HasTheStatedMeanAndVariance) {
  WeightRows rows;
  random_checkpoint()->tensor("a.weight", {1024, 64}).read_rows(0, 1024, rows);
  double sum = 0, squares = 0;
  for (const uint16_t half : rows.halves) {
    const double value = bf16_to_f32(half);
    sum += value;
    squares += value * value;
  }
  EXPECT_NEAR(sum / 65536, 0, 0.003);
  EXPECT_NEAR(squares / 65536 * 64, 1, 0.021);
}

TEST(RandomCheckpoint, NormsAreNearOne) {
  WeightRows row;
  random_checkpoint()->tensor("model.norm.weight", {1000}).read_rows(0, 1, row);
  ASSERT_EQ(row.halves.size(), 1000u);
  for (const uint16_t half : row.halves) EXPECT_NEAR(bf16_to_f32(half), 1.0f, 0.105f);
  EXPECT_NE(row.halves[0], row.halves[1]);
}

}  // namespace
}  // namespace gumbel
