#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csignal>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "base/float16.h"
#include "export/export.h"
#include "export/test_files.h"
#include "program/program_file.h"
#include "runtime/running_program.h"

namespace gumbel {
namespace {

using test::expect_error;
using test::TemporaryFolder;

// A Llama of one layer; 40 is not a multiple of 32.
std::string config(int64_t hidden, int64_t vocab = 70, int64_t positions = 100) {
  return fmt::format(R"({{"architectures": ["LlamaForCausalLM"], "model_type": "llama",
    "vocab_size": {}, "hidden_size": {}, "intermediate_size": 64, "num_hidden_layers": 1,
    "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
    "max_position_embeddings": {}, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
    "tie_word_embeddings": false, "hidden_act": "silu"}})",
                     vocab, hidden, positions);
}

ImportedModel random_model(const TemporaryFolder& folder, const std::string& json) {
  return import_model("random:" + folder.write("config.json", json).string());
}

WeightType type_of(const Program& program, std::string_view name) {
  for (const WeightInfo& weight : program.weights)
    if (weight.name == name) return weight.type;
  ADD_FAILURE() << "no weight " << name;
  return WeightType::kF32;
}

TEST(ExportOptions, QuantizationChoosesTypesByRoleAndWidth) {
  const TemporaryFolder folder;
  const auto backend = make_reference_backend();
  const auto path = folder.path() / "p.gumbel";
  const ImportedModel even = random_model(folder, config(64));
  const ImportedModel odd = random_model(folder, config(40));
  const auto types = [&](const ImportedModel& model, Quantization quantization) {
    ExportOptions options;
    options.quantization = quantization;
    return export_program(model, options, *backend, path);
  };
  struct Row {
    const char* name;
    WeightType none, q8, q4, odd_q4;
  };
  using enum WeightType;
  const Row rows[] = {
      {"model.embed_tokens.weight", kBF16, kQ8_0, kQ8_0, kBF16},
      {"lm_head.weight", kBF16, kQ8_0, kQ8_0, kBF16},
      {"model.layers.0.self_attn.q_proj.weight", kBF16, kQ8_0, kQ4_1, kBF16},
      {"model.layers.0.self_attn.o_proj.weight", kBF16, kQ8_0, kQ4_1, kQ4_1},
      {"model.layers.0.mlp.gate_proj.weight", kBF16, kQ8_0, kQ4_1, kBF16},
      {"model.layers.0.mlp.down_proj.weight", kBF16, kQ8_0, kQ4_1, kQ4_1},
      {"model.layers.0.input_layernorm.weight", kF32, kF32, kF32, kF32},
      {"rotary_frequencies", kF32, kF32, kF32, kF32},
  };
  const Program none = types(even, Quantization::kNone);
  const Program q8 = types(even, Quantization::kQ8);
  const Program q4 = types(even, Quantization::kQ4);
  const Program odd_q4 = types(odd, Quantization::kQ4);
  for (const Row& row : rows) {
    EXPECT_EQ(type_of(none, row.name), row.none) << row.name;
    EXPECT_EQ(type_of(q8, row.name), row.q8) << row.name;
    EXPECT_EQ(type_of(q4, row.name), row.q4) << row.name;
    EXPECT_EQ(type_of(odd_q4, row.name), row.odd_q4) << row.name;
  }
  EXPECT_EQ(none.kv_caches[0].type, DataType::kF32);
  EXPECT_EQ(q8.kv_caches[0].type, DataType::kF16);
  EXPECT_EQ(odd_q4.kv_caches[0].type, DataType::kF16);
}

TEST(ExportOptions, QuantizedProgramsOfAnyWidthRunAlikeOnBothBackends) {
  const TemporaryFolder folder;
  const std::vector<int64_t> tokens = {1, 5, 69, 0, 33};
  for (const int64_t hidden : {64, 40}) {
    const ImportedModel model = random_model(folder, config(hidden));
    std::vector<std::vector<float>> all;
    for (const Quantization quantization :
         {Quantization::kNone, Quantization::kQ8, Quantization::kQ4}) {
      ExportOptions options;
      options.quantization = quantization;
      const auto path = folder.path() / "p.gumbel";
      export_program(model, options, cpu::CpuBackend(cpu::CpuTarget::kScalar, 1), path);
      ProgramFile(path).check_weights();
      all.push_back(test::RunningProgram(path, make_reference_backend(), 1).all_logits(tokens, 5));
      for (const cpu::CpuTarget target : cpu::supported_targets())
        EXPECT_EQ(test::RunningProgram(path, std::make_unique<cpu::CpuBackend>(target, 1), 1)
                      .all_logits(tokens, 2),
                  all.back())
            << name(target);
    }
    // Fewer bits lie farther from the weights' own logits.
    const auto distance = [&](const std::vector<float>& logits) {
      double sum = 0;
      for (size_t i = 0; i < logits.size(); ++i) sum += std::abs(logits[i] - all[0][i]);
      return sum / static_cast<double>(logits.size());
    };
    EXPECT_GT(distance(all[1]), 0.0);
    EXPECT_GT(distance(all[2]), distance(all[1]));
    EXPECT_LT(distance(all[2]), 0.5);
  }
}

TEST(ExportOptions, TheCacheHasTheTypeAskedFor) {
  const TemporaryFolder folder;
  const ImportedModel model = random_model(folder, config(64));
  for (const DataType type : {DataType::kF16, DataType::kF32}) {
    for (const Quantization quantization : {Quantization::kNone, Quantization::kQ4}) {
      ExportOptions options;
      options.kv_type = type;
      options.quantization = quantization;
      const auto path = folder.path() / "p.gumbel";
      export_program(model, options, *make_reference_backend(), path);
      const ProgramFile file(path);
      for (const KvCacheSpec& state : file.program().kv_caches) EXPECT_EQ(state.type, type);
    }
  }
}

TEST(ExportOptions, TheContextIsTheModelsOwnAtMost) {
  const TemporaryFolder folder;
  const auto backend = make_reference_backend();
  const auto path = folder.path() / "p.gumbel";
  const ImportedModel small = random_model(folder, config(64, 70, 100));
  const ImportedModel large = random_model(folder, config(64, 70, 131072));
  const auto lengths = [&](const ImportedModel& model, std::optional<int64_t> wanted) {
    ExportOptions options;
    options.max_sequence_length = wanted;
    const Program program = export_program(model, options, *backend, path);
    return std::pair(program.constant("get_max_seq_len"),
                     program.constant("get_max_prefill_chunk"));
  };
  EXPECT_EQ(lengths(small, std::nullopt), std::pair(int64_t{100}, int64_t{100}));
  EXPECT_EQ(lengths(large, std::nullopt), std::pair(int64_t{8192}, int64_t{128}));
  EXPECT_EQ(lengths(large, 131072), std::pair(int64_t{131072}, int64_t{128}));
  EXPECT_EQ(lengths(small, 1), std::pair(int64_t{1}, int64_t{1}));
  std::filesystem::remove(path);
  for (const int64_t wanted : {int64_t{101}, int64_t{0}, int64_t{-1}, INT64_MAX, INT64_MIN})
    expect_error(
        ErrorCode::kInvalidArgument,
        fmt::format("--max-seq-len: expected 1 to 100, the model's own context, got {}", wanted),
        [&] { lengths(small, wanted); });
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ExportOptions, ProgressGrowsToTheTotal) {
  const TemporaryFolder folder;
  ExportProgress last;
  ExportOptions options;
  options.progress = [&](const ExportProgress& state) {
    EXPECT_GE(state.written, last.written);
    EXPECT_GE(state.read, last.read);
    EXPECT_LE(state.written, state.total);
    last = state;
  };
  const Program program = export_program(random_model(folder, config(64)), options,
                                         *make_reference_backend(), folder.path() / "p.gumbel");
  EXPECT_EQ(last.written, last.total);
  uint64_t matrices = 0;
  for (const WeightInfo& weight : program.weights)
    if (weight.name != "rotary_frequencies")
      matrices += static_cast<uint64_t>(weight.rows() * weight.columns());
  EXPECT_EQ(last.read, 2 * matrices);  // bfloat16
}

TEST(ExportOptions, TheProgramSaysWhereItCameFrom) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.gumbel";
  export_program(random_model(folder, config(64)), {}, *make_reference_backend(), path);
  const ProgramFile file(path);
  const Program& program = file.program();
  EXPECT_EQ(program.packing, "reference");
  EXPECT_EQ(program.provenance.at("source"), "random:config.json");
  EXPECT_EQ(program.provenance.at("architecture"), "llama");
  EXPECT_EQ(program.provenance.at("exported_by").substr(0, 7), "gumbel ");
  EXPECT_EQ(program.constant("get_n_layers"), 1);
  EXPECT_EQ(program.constant("get_vocab_size"), 70);
  EXPECT_EQ(program.constant("use_kv_cache"), 1);
}

// The folder holds `before` files when nothing else was left there.
void expect_only(const TemporaryFolder& folder, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
    found.push_back(entry.path().filename().string());
  std::sort(found.begin(), found.end());
  EXPECT_EQ(found, names);
}

// A process that may not make files larger sees what one with a full disk does.
TEST(ExportOptions, AFullDiskLeavesNothing) {
  const TemporaryFolder folder;
  const ImportedModel model = random_model(folder, config(64));
  const auto path = folder.path() / "p.gumbel";
  export_program(model, {}, *make_reference_backend(), path);
  const uint64_t size = std::filesystem::file_size(path);
  std::filesystem::remove(path);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  for (const uint64_t limit : {uint64_t{0}, uint64_t{1000}, size / 2, size - 1}) {
    rlimit small = before;
    small.rlim_cur = limit;
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    expect_error(ErrorCode::kIo, "cannot write",
                 [&] { export_program(model, {}, *make_reference_backend(), path); });
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    expect_only(folder, {"config.json"});
  }
  std::signal(SIGXFSZ, handler);
}

// One tensor that throws, or holds numbers that cannot be quantized.
class BrokenCheckpoint : public Checkpoint {
 public:
  BrokenCheckpoint(std::unique_ptr<Checkpoint> whole, std::string name, float value)
      : whole_(std::move(whole)), name_(std::move(name)), broken_{value} {}
  bool has(std::string_view name) const override { return whole_->has(name); }
  const CheckpointTensor& tensor(std::string_view name,
                                 const std::vector<int64_t>& shape) const override {
    if (name != name_) return whole_->tensor(name, shape);
    broken_.shape_ = shape;
    return broken_;
  }

 private:
  struct Tensor : CheckpointTensor {
    explicit Tensor(float value) : value_(value) {}
    WeightType type() const override { return WeightType::kBF16; }
    const std::vector<int64_t>& shape() const override { return shape_; }
    void read_rows(int64_t first, int64_t count, WeightRows& out) const override {
      out.resize(WeightType::kBF16, count, shape_.back());
      if (first == 0) out.halves[33] = f32_to_bf16(value_);
    }
    float value_;
    std::vector<int64_t> shape_;
  };
  std::unique_ptr<Checkpoint> whole_;
  std::string name_;
  mutable Tensor broken_;
};

TEST(ExportOptions, AWeightThatCannotBeQuantizedIsNamedAndNothingIsLeft) {
  const TemporaryFolder folder;
  const std::string weight = "model.layers.0.mlp.down_proj.weight";
  for (const float value : {std::numeric_limits<float>::infinity(), 1e30f}) {
    ImportedModel model = random_model(folder, config(64));
    model.weights = std::make_unique<BrokenCheckpoint>(std::move(model.weights), weight, value);
    ExportOptions options;
    const auto path = folder.path() / "p.gumbel";
    options.quantization = Quantization::kQ8;
    expect_error(ErrorCode::kInvalidArgument, weight,
                 [&] { export_program(model, options, *make_reference_backend(), path); });
    expect_only(folder, {"config.json"});
    options.quantization = Quantization::kNone;
    if (std::isinf(value)) {
      expect_error(ErrorCode::kInvalidArgument,
                   weight + ": expected finite weights, got inf at row 0, column 33",
                   [&] { export_program(model, options, *make_reference_backend(), path); });
      expect_only(folder, {"config.json"});
      continue;
    }
    export_program(model, options, *make_reference_backend(), path);
    std::filesystem::remove(path);
  }
}

TEST(ExportOptions, WhatTheModelLacksIsNamed) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.gumbel";
  ImportedModel model = import_model(test::data_path("models/llama").string());
  ++model.config.layers;
  expect_error(ErrorCode::kNotFound,
               fmt::format("model.layers.{}.input_layernorm.weight", model.config.layers - 1),
               [&] { export_program(model, {}, *make_reference_backend(), path); });
  model.config.architecture = "mamba";
  expect_error(ErrorCode::kUnsupported,
               "expected one of llama, qwen3, gemma3, gemma4, qwen3_5, qwen3_5_moe, got 'mamba'",
               [&] { export_program(model, {}, *make_reference_backend(), path); });
  expect_only(folder, {});
}

TEST(ExportOptions, AProgramThatCouldNotBeLoadedIsNotWritten) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.gumbel";
  ImportedModel model = random_model(folder, config(64));
  model.eos_ids = {70};
  expect_error(ErrorCode::kCorruptFile, "get_eos_ids",
               [&] { export_program(model, {}, *make_reference_backend(), path); });
  expect_only(folder, {"config.json"});
}

}  // namespace
}  // namespace gumbel
