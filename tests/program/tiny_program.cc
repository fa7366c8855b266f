#include "program/tiny_program.h"

#include <cmath>
#include <string>
#include <utility>

#include "export/program_builder.h"
#include "export/quantize.h"
#include "export/random_checkpoint.h"
#include "export/sampling_head.h"
#include "program/program_file.h"

namespace gumbel::test {
namespace {

ValueId block(MethodBuilder& g, const TinyModel& model, ValueId x, ValueId input_pos, ValueId table,
              int layer) {
  const std::string prefix = "layer" + std::to_string(layer) + ".";
  KvCacheSpec spec{prefix + "cache", model.kv_heads, model.head_dim,
                   model.head_dim,   model.kv,       layer == 1 ? model.window : 0};
  const int32_t cache = g.program().kv_cache(spec);
  const int64_t key_width = model.kv_heads * model.head_dim;
  ValueId h = g.rms_norm(x, prefix + "norm.weight", 1e-6);
  ValueId q = g.split_heads(g.linear(h, prefix + "q", model.heads * model.head_dim), model.heads);
  const ValueId k = g.split_heads(g.linear(h, prefix + "k", key_width), model.kv_heads);
  const ValueId v = g.split_heads(g.linear(h, prefix + "v", key_width), model.kv_heads);
  q = g.rotary(q, table);
  g.cache_update(g.rotary(k, table), v, input_pos, cache);
  h = g.join_heads(g.attention(q, input_pos, cache, 0.25f));
  x = g.add(x, g.linear(h, prefix + "o", model.width));
  const ValueId gate = g.linear(x, prefix + "gate", model.width);
  const ValueId up = g.linear(x, prefix + "up", model.width);
  const auto activation = layer == 0 ? Activation::kSilu : Activation::kGeluTanh;
  return g.add(x, g.gated_activation(gate, up, activation));
}

void build(ProgramBuilder& program, const TinyModel& model, const std::string& name, bool all) {
  MethodBuilder g(program, name);
  const ValueId tokens = g.input("tokens", DataType::kI64, {kBatch, kTime});
  const ValueId input_pos = g.input("input_pos", DataType::kI64, {kBatch, kTime});
  std::vector<float> frequencies;
  for (int64_t i = 0; i < model.head_dim / 2; ++i)
    frequencies.push_back(std::ldexp(1.0f, -static_cast<int>(i)));
  const ValueId table = g.rotary_table(input_pos, "frequencies", frequencies);
  ValueId x = g.embedding(tokens, "table", model.vocab, model.width, 2.0f);
  for (int layer = 0; layer < 2; ++layer) x = block(g, model, x, input_pos, table, layer);
  if (!all) x = g.select_last(x);
  g.finish({g.linear(x, "table", model.vocab)});
}

void write_weight(const WeightInfo& weight, const WeightSource& source, const Backend& backend,
                  ProgramWriter& writer) {
  WeightRows rows;
  std::vector<float> values = source.values;
  if (source.tensor != nullptr) {
    source.tensor->read_rows(0, weight.rows(), rows);
    WeightRows floats;
    floats.resize(WeightType::kF32, rows.rows, rows.columns);
    for (int64_t row = 0; row < rows.rows; ++row)
      dequantize_row(
          rows, row,
          std::span(floats.floats)
              .subspan(static_cast<size_t>(row * rows.columns), static_cast<size_t>(rows.columns)));
    rows = weight.type == WeightType::kF32 ? floats : quantize(floats, weight.type);
    values = std::move(floats.floats);
  }
  if (weight.shape.size() == 1) {
    writer.append(std::as_bytes(std::span(values)));
    return;
  }
  std::vector<std::byte> packed(weight.bytes);
  backend.pack(rows, packed);
  writer.append(packed);
}

}  // namespace

Program write_tiny_program(const std::filesystem::path& path, const TinyModel& model,
                           const Backend& backend) {
  const auto checkpoint = random_checkpoint();
  ProgramBuilder builder(*checkpoint);
  build(builder, model, "forward", false);
  if (model.sample) add_sampling_head(builder.program, builder.program.methods.front());
  build(builder, model, "forward_all", true);
  return write_built_program(path, builder, model, backend);
}

Program write_built_program(const std::filesystem::path& path, ProgramBuilder& builder,
                            const TinyModel& model, const Backend& backend) {
  Program& program = builder.program;
  program.packing = backend.name();
  program.constants = {{"get_max_seq_len", {model.max_length}},
                       {"get_vocab_size", {model.vocab}},
                       {"get_min_prefill_chunk", {1}},
                       {"get_max_prefill_chunk", {model.max_chunk}},
                       {"get_n_layers", {2}},
                       {"get_bos_id", {-1}},
                       {"get_eos_ids", {1, 3}},
                       {"use_kv_cache", {1}},
                       {"use_sampling", {model.sample ? 1 : 0}}};
  program.provenance = {{"source", "a test"}};
  for (WeightInfo& weight : program.weights) {
    const bool matrix = weight.shape.size() == 2;
    weight.type = matrix ? model.type : WeightType::kF32;
    weight.bytes = matrix ? backend.packed_bytes(weight.type, weight.rows(), weight.columns())
                          : static_cast<uint64_t>(weight.columns()) * sizeof(float);
  }
  ProgramWriter writer(path, program);
  for (size_t i = 0; i < builder.sources.size(); ++i)
    write_weight(writer.program().weights[i], builder.sources[i], backend, writer);
  writer.finish();
  return writer.program();
}

}  // namespace gumbel::test
