#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "backends/reference/reference_backend.h"
#include "export/test_files.h"
#include "program/program_file.h"
#include "program/tiny_program.h"

namespace gumbel {
namespace {

using test::expect_error;

struct Mutation {
  const char* what;
  std::function<void(Program&)> apply;
  const char* message;  // a part of the error, which says where
};

Method& forward(Program& p) { return p.methods.front(); }

Node& node(Program& p, Op op) {
  for (Node& n : forward(p).nodes)
    if (n.op == op) return n;
  ADD_FAILURE() << "no node " << name(op);
  return forward(p).nodes.front();
}

Value& input_value(Program& p, const char* name) {
  for (Value& value : forward(p).values)
    if (value.name == name) return value;
  ADD_FAILURE() << "no value " << name;
  return forward(p).values.front();
}

WeightInfo& weight(Program& p, const char* name) {
  return *std::find_if(p.weights.begin(), p.weights.end(),
                       [&](const WeightInfo& w) { return w.name == name; });
}

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

const Mutation kMutations[] = {
    // Weights.
    {"a name twice", [](Program& p) { p.weights[1].name = p.weights[0].name; },
     "weight frequencies is there twice"},
    {"an unknown type", [](Program& p) { p.weights[1].type = static_cast<WeightType>(16); },
     "weight table: unknown type 16"},
    {"no dimensions", [](Program& p) { weight(p, "table").shape = {}; },
     "weight table: expected 1 to 4 dimensions, got 0"},
    {"three dimensions", [](Program& p) { weight(p, "table").shape = {5, 10, 64}; },
     "[embedding] weight table: expected 2 dimensions"},
    {"five dimensions", [](Program& p) { weight(p, "table").shape = {1, 1, 1, 50, 64}; },
     "weight table: expected 1 to 4 dimensions, got 5"},
    {"a dimension of 0", [](Program& p) { weight(p, "table").shape = {0, 64}; },
     "weight table: expected dimensions of 1 to"},
    {"a symbol", [](Program& p) { weight(p, "table").shape = {kBatch, 64}; },
     "weight table: expected dimensions of 1 to"},
    {"a huge dimension", [](Program& p) { weight(p, "table").shape = {INT64_MAX, 1}; },
     "weight table: expected dimensions of 1 to"},
    {"a huge product", [](Program& p) { weight(p, "table").shape = {1 << 30, 1 << 30}; },
     "weight table: expected at most"},
    {"a vector of f16", [](Program& p) { weight(p, "frequencies").type = WeightType::kF16; },
     "weight frequencies: expected a matrix, several, or a vector of f32"},
    {"part of a block", [](Program& p) { weight(p, "layer0.q").type = WeightType::kQ4_K; },
     "weight layer0.q: expected rows of whole q4_k blocks"},
    {"bytes that do not fit a vector", [](Program& p) { ++weight(p, "frequencies").bytes; },
     "weight frequencies: expected 32 bytes, got 33"},
    {"an offset off the page", [](Program& p) { weight(p, "table").offset += 64; },
     "weight table: expected a segment on a page"},
    {"an offset past the end", [](Program& p) { weight(p, "table").offset = uint64_t{1} << 40; },
     "weight table: expected a segment on a page within"},
    {"an end past the end", [](Program& p) { weight(p, "table").bytes = uint64_t{1} << 40; },
     "weight table: expected a segment on a page within"},
    {"an end that wraps around",
     [](Program& p) { weight(p, "table").offset = UINT64_MAX / 4096 * 4096; },
     "weight table: expected a segment on a page within"},
    {"an overlap", [](Program& p) { p.weights[2].offset = p.weights[1].offset; },
     "two weights overlap at byte"},
    // States.
    {"a state of integers", [](Program& p) { p.kv_caches[1].type = DataType::kI64; },
     "state layer1.cache: expected f16 or f32"},
    {"a state without heads", [](Program& p) { p.kv_caches[1].kv_heads = 0; },
     "state layer1.cache: expected dimensions"},
    {"a state of huge keys", [](Program& p) { p.kv_caches[1].key_dim = INT64_MAX; },
     "state layer1.cache: expected dimensions"},
    {"a state of huge values", [](Program& p) { p.kv_caches[1].value_dim = INT64_MAX; },
     "state layer1.cache: expected dimensions"},
    {"a negative window", [](Program& p) { p.kv_caches[1].window = -1; },
     "state layer1.cache: expected a window"},
    {"a huge window", [](Program& p) { p.kv_caches[1].window = INT64_MAX; },
     "state layer1.cache: expected a window"},
    // Methods and their inputs.
    {"a method twice", [](Program& p) { p.methods[1].name = "forward"; },
     "method forward is there twice"},
    {"a value of f16", [](Program& p) { forward(p).values[3].type = DataType::kF16; },
     "method forward: value"},
    {"a value without shape", [](Program& p) { forward(p).values[3].shape = {}; },
     "method forward: value"},
    {"a huge value", [](Program& p) { forward(p).values[3].shape = {kBatch, 1 << 30, 1 << 30}; },
     "method forward: value"},
    {"a value of size 0", [](Program& p) { forward(p).values[3].shape = {kBatch, 0}; },
     "method forward: value"},
    {"[1 or B] beside others", [](Program& p) { forward(p).values[3].shape = {kPerRow, 4}; },
     "method forward: value"},
    {"an unknown symbol", [](Program& p) { forward(p).values[3].shape = {kBatch, -4}; },
     "method forward: value"},
    {"an input that is no value", [](Program& p) { forward(p).inputs[0].value = 10'000; },
     "method forward: expected a value below"},
    {"a negative input", [](Program& p) { forward(p).inputs[0].value = -1; },
     "method forward: expected a value below"},
    {"an input twice", [](Program& p) { forward(p).inputs[1].value = forward(p).inputs[0].value; },
     "method forward: value 0 is defined twice"},
    {"two inputs of a name", [](Program& p) { input_value(p, "input_pos").name = "tokens"; },
     "method forward: input tokens is there twice"},
    {"a default of another shape", [](Program& p) { forward(p).inputs[1].default_value = 0; },
     "input input_pos has a default but not the shape [1 or B]"},
    {"a default before none", [](Program& p) { forward(p).inputs[3].default_value = 0; },
     "input top_p follows one with a default and has none"},
    {"a default that is no number", [](Program& p) { forward(p).inputs[6].default_value = kNaN; },
     "input min_p: expected a default of type f32, got nan"},
    {"a default over f32", [](Program& p) { forward(p).inputs[6].default_value = 1e39; },
     "input min_p: expected a default of type f32"},
    {"a default over i64",
     [](Program& p) {
       forward(p).inputs[5].default_value = 1e19;
       forward(p).inputs[6].default_value = 0;
     },
     "input seed: expected a default of type i64"},
    {"a default between integers", [](Program& p) { forward(p).inputs[5].default_value = 0.5; },
     "input seed: expected a default of type i64, got 0.5"},
    // Nodes.
    {"an operand that is no value", [](Program& p) { node(p, Op::kAdd).inputs[0] = 10'000; },
     "method forward: expected a value below"},
    {"a negative operand", [](Program& p) { node(p, Op::kAdd).inputs[0] = -7; },
     "method forward: expected a value below"},
    {"use before definition",
     [](Program& p) { node(p, Op::kAdd).inputs[0] = node(p, Op::kSelectLast).outputs[0]; },
     "is used before it is computed"},
    {"use of what nothing defines",
     [](Program& p) {
       forward(p).values.push_back({"loose", DataType::kF32, {kBatch, kTime, 64}});
       node(p, Op::kAdd).inputs[0] = static_cast<int32_t>(forward(p).values.size() - 1);
     },
     "is used before it is computed"},
    {"a weight that is none", [](Program& p) { node(p, Op::kLinear).weights[0] = 10'000; },
     "method forward: expected a weight below"},
    {"a state that is none", [](Program& p) { node(p, Op::kAttention).state = 2; },
     "method forward: expected a state below 2, got 2"},
    {"an output that is no value", [](Program& p) { node(p, Op::kAdd).outputs[0] = -1; },
     "method forward: expected a value below"},
    {"an output too many", [](Program& p) { node(p, Op::kAdd).outputs.push_back(5); },
     "method forward: [add] expected 1 outputs, got 2"},
    {"no output", [](Program& p) { node(p, Op::kAdd).outputs.clear(); },
     "method forward: [add] expected 1 outputs, got 0"},
    {"a value computed twice",
     [](Program& p) { node(p, Op::kGatedActivation).outputs[0] = node(p, Op::kLinear).outputs[0]; },
     "is defined twice"},
    {"an input computed",
     [](Program& p) {
       forward(p).values[0].type = DataType::kF32;
       forward(p).values[0].shape = {kBatch, kTime, 64};
       node(p, Op::kRmsNorm).outputs[0] = 0;
       forward(p).nodes.erase(forward(p).nodes.begin() + 1);  // the embedding, which read it
     },
     "method forward:"},
    {"a wrong shape",
     [](Program& p) {
       forward(p).values[static_cast<size_t>(node(p, Op::kSelectLast).outputs[0])].shape = {kBatch,
                                                                                            63};
     },
     "method forward: [select_last] computes f32 [B, 64], but value"},
    {"a wrong type",
     [](Program& p) {
       forward(p).values[static_cast<size_t>(node(p, Op::kSample).outputs[0])].type =
           DataType::kF32;
     },
     "method forward: [sample] computes i64 [B], but value token is f32 [B]"},
    {"a window unlike the cache's",
     [](Program& p) { node(p, Op::kAttention).attributes.window = 5; },
     "[attention] expected the window 0 of its state layer0.cache, got 5"},
    {"a result that is no value", [](Program& p) { forward(p).outputs[0] = 10'000; },
     "method forward: expected a value below"},
    {"a result that nothing computes",
     [](Program& p) {
       forward(p).values.push_back({"loose", DataType::kF32, {kBatch}});
       forward(p).outputs[0] = static_cast<int32_t>(forward(p).values.size() - 1);
     },
     "is used before it is computed"},
    // Constant methods.
    {"no context", [](Program& p) { p.constants.erase("get_max_seq_len"); },
     "expected a constant method get_max_seq_len"},
    {"two contexts", [](Program& p) { p.constants["get_max_seq_len"] = {64, 64}; },
     "expected a constant method get_max_seq_len"},
    {"a context of 0", [](Program& p) { p.constants["get_max_seq_len"] = {0}; },
     "expected get_max_seq_len from 1"},
    {"a huge context", [](Program& p) { p.constants["get_max_seq_len"] = {INT64_MAX}; },
     "expected get_max_seq_len from 1"},
    {"a vocabulary of 0", [](Program& p) { p.constants["get_vocab_size"] = {0}; },
     "expected get_vocab_size from 1"},
    {"a vocabulary over 2^23 - 1", [](Program& p) { p.constants["get_vocab_size"] = {1 << 23}; },
     "expected get_vocab_size from 1"},
    {"a chunk of 0", [](Program& p) { p.constants["get_min_prefill_chunk"] = {0}; },
     "expected prefill chunks from 1 to 64, got 0 to 16"},
    {"chunks the wrong way round", [](Program& p) { p.constants["get_min_prefill_chunk"] = {17}; },
     "expected prefill chunks"},
    {"a chunk over the context", [](Program& p) { p.constants["get_max_prefill_chunk"] = {65}; },
     "expected prefill chunks from 1 to 64, got 1 to 65"},
    {"no chunk", [](Program& p) { p.constants.erase("get_max_prefill_chunk"); },
     "get_max_prefill_chunk"},
    {"negative layers", [](Program& p) { p.constants["get_n_layers"] = {-1}; }, "get_n_layers"},
    {"no layers", [](Program& p) { p.constants.erase("get_n_layers"); }, "get_n_layers"},
    {"a flag of 2", [](Program& p) { p.constants["use_sampling"] = {2}; },
     "expected use_sampling to be 0 or 1, got 2"},
    {"no flag", [](Program& p) { p.constants.erase("use_kv_cache"); }, "use_kv_cache"},
    {"no end of turn", [](Program& p) { p.constants.erase("get_eos_ids"); }, "get_eos_ids"},
    {"an end of turn over the vocabulary", [](Program& p) { p.constants["get_eos_ids"] = {1, 50}; },
     "expected get_eos_ids from 0 to 49, got 50"},
    {"a beginning over the vocabulary", [](Program& p) { p.constants["get_bos_id"] = {50}; },
     "expected get_bos_id from -1"},
};

TEST(Verify, EveryRuleIsEnforcedAndItsMessageSaysWhere) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "p.gumbel";
  test::TinyModel model;
  model.sample = true;
  const auto backend = make_reference_backend();
  const Program good = test::write_tiny_program(path, model, *backend);
  const uint64_t size = std::filesystem::file_size(path);
  verify(good, size);
  expect_error(ErrorCode::kCorruptFile, "expected a segment on a page within",
               [&] { verify(good, size - 1); });
  for (const Mutation& mutation : kMutations) {
    SCOPED_TRACE(mutation.what);
    Program bad = good;
    mutation.apply(bad);
    expect_error(ErrorCode::kCorruptFile, mutation.message, [&] { verify(bad, size); });
  }
}

TEST(Verify, ACallerMayHaveNoEndOfTurnAndNoBeginning) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "p.gumbel";
  Program program = test::write_tiny_program(path, {}, *make_reference_backend());
  program.constants["get_eos_ids"] = {};
  program.constants["get_bos_id"] = {-1};
  verify(program, std::filesystem::file_size(path));
}

}  // namespace
}  // namespace gumbel
