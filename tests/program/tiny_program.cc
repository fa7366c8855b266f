#include "program/tiny_program.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "export/graph/program_builder.h"
#include "export/graph/sampling_head.h"
#include "export/random_checkpoint.h"
#include "export/weights/quantize.h"
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

// A gated delta net of two heads, then three experts of which each token uses two.
ValueId hybrid_block(MethodBuilder& g, const TinyModel& model, ValueId x, ValueId input_pos) {
  const int64_t dim = model.head_dim;
  ValueId mixed = g.linear(g.rms_norm(x, "layer2.norm.weight", 1e-6), "layer2.mixed", 4 * dim);
  std::vector<float> taps;
  for (int64_t i = 0; i < 3 * 4 * dim; ++i) taps.push_back(0.1f * static_cast<float>(i % 7) - 0.3f);
  mixed = g.causal_conv(mixed, input_pos, "layer2.conv", taps);
  const std::vector<float> unit(static_cast<size_t>(dim), 0.25f);
  MethodBuilder::DeltaRule rule;
  rule.name = "layer2.delta_rule";
  rule.q = g.rms_norm(g.split_heads(g.slice(mixed, 0, dim), 1), "layer2.unit", unit, 1e-6);
  rule.k = g.rms_norm(g.split_heads(g.slice(mixed, dim, 2 * dim), 1), "layer2.unit", unit, 1e-6);
  rule.v = g.split_heads(g.slice(mixed, 2 * dim, 4 * dim), 2);
  rule.decay = g.linear(x, "layer2.decay", 2, WeightRole::kGate);
  rule.strength = g.linear(x, "layer2.strength", 2, WeightRole::kGate);
  rule.rate = {-0.5f, -1.5f};
  rule.bias = {0.25f, 0.5f};
  ValueId h = g.join_heads(g.gated_delta_rule(rule, input_pos));
  x = g.add(x, g.linear(h, "layer2.out", model.width));

  const auto routing =
      g.router(g.linear(x, "layer2.router", 3, WeightRole::kGate), 2, "layer2.expert_scale");
  h = g.expert_linear(x, routing, "layer2.up", 3, model.width);
  const ValueId gate = g.linear(x, "layer2.gate", 1, WeightRole::kGate);
  h = g.expert_sum(g.expert_linear(h, routing, "layer2.down", 3, model.width), routing);
  return g.add(g.scale(x, 0.5), g.gated_activation(gate, h, Activation::kSigmoid));
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
  if (model.hybrid) x = hybrid_block(g, model, x, input_pos);
  if (!all) x = g.select_last(x);
  x = g.linear(x, "table", model.vocab);
  g.finish({model.hybrid ? g.soft_cap(x, 3.0) : x});
}

void write_weight(const WeightInfo& weight, const WeightSource& source, const Backend& backend,
                  ProgramWriter& writer) {
  WeightRows rows;
  std::vector<float> values = source.values;
  if (source.tensor != nullptr) {
    source.tensor->read_rows(0, weight.matrices() * weight.rows(), rows);
    WeightRows floats;
    floats.resize(WeightType::kF32, rows.rows, rows.columns);
    dequantize_rows(rows, floats.floats);
    values = std::move(floats.floats);
  }
  if (weight.shape.size() == 1) {
    writer.append(std::as_bytes(std::span(values)));
    return;
  }
  // The backend packs each of several matrices on its own.
  for (int64_t i = 0; i < weight.matrices(); ++i) {
    WeightRows floats;
    floats.resize(WeightType::kF32, weight.rows(), weight.columns());
    const auto elements = weight.rows() * weight.columns();
    std::copy_n(values.begin() + i * elements, elements, floats.floats.begin());
    const WeightRows matrix =
        weight.type == WeightType::kF32 ? floats : quantize(floats, weight.type);
    std::vector<std::byte> packed(backend.packed_bytes(weight.type, matrix.rows, matrix.columns));
    backend.pack(matrix, packed);
    writer.append(packed);
  }
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
    const bool matrix = weight.shape.size() >= 2;
    weight.type = matrix ? model.type : WeightType::kF32;
    weight.bytes = matrix ? static_cast<uint64_t>(weight.matrices()) *
                                backend.packed_bytes(weight.type, weight.rows(), weight.columns())
                          : static_cast<uint64_t>(weight.columns()) * sizeof(float);
  }
  ProgramWriter writer(path, program);
  for (size_t i = 0; i < builder.sources.size(); ++i)
    write_weight(writer.program().weights[i], builder.sources[i], backend, writer);
  writer.finish();
  return writer.program();
}

}  // namespace gumbel::test
