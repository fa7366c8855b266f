#include "export/export.h"

#include <algorithm>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "export/graph/program_builder.h"
#include "export/graph/prune.h"
#include "export/graph/sampling_head.h"
#include "export/models/family.h"
#include "export/weights/quantize.h"
#include "export/weights/weight_writer.h"
#include "program/program_file.h"
#include "text/chat_template.h"
#include "text/tokenizer_record.h"

namespace gumbel {
namespace {

constexpr int64_t kDefaultMaxSequenceLength = 8192;
// Long enough that a chunk's arithmetic hides the reading of the weights, short enough that its
// activations stay in the second-level cache.
constexpr int64_t kMaxPrefillChunk = 128;

// What a method returns of the logits.
enum class Returns { kNothing, kLastLogits, kAllLogits };

// tokens, input_pos -> logits. A method that returns nothing only fills the key-value caches: an
// engine feeds it all chunks of a prompt but the last, which saves their last layer and LM head.
void build_method(ProgramBuilder& program, const ModelConfig& config, const std::string& name,
                  Returns returns) {
  MethodBuilder g(program, name);
  const ModelInputs inputs{g.input("tokens", DataType::kI64, {kBatch, kTime}),
                           g.input("input_pos", DataType::kI64, {kBatch, kTime})};
  ValueId x = model_family(config.architecture)(g, config, inputs);
  if (returns == Returns::kNothing) {
    g.finish({});
    prune(program.program.methods.back());
    return;
  }
  if (returns == Returns::kLastLogits) x = g.select_last(x);
  const char* head = config.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight";
  ValueId logits = g.linear(x, head, config.vocab_size, WeightRole::kTokenTable);
  if (config.final_logit_softcap > 0) logits = g.soft_cap(logits, config.final_logit_softcap);
  g.finish({logits});
}

std::string_view name(Quantization quantization) {
  switch (quantization) {
    case Quantization::kNone:
      break;
    case Quantization::kQ8:
      return "q8";
    case Quantization::kQ4:
      return "q4";
  }
  return "none";
}

bool is_matrix(const WeightInfo& weight) { return weight.shape.size() >= 2; }

// The type that `weight` is exported in.
WeightType exported_type(const WeightInfo& weight, WeightRole role, Quantization quantization) {
  // Groups of 32 need rows of whole groups; other widths keep their precision. So do gates: they
  // are a thousandth of a model's bytes, and a wrong expert costs more than a rounded product.
  if (quantization == Quantization::kNone || weight.columns() % 32 != 0 ||
      role == WeightRole::kGate)
    return weight.type;
  if (quantization == Quantization::kQ8 || role == WeightRole::kTokenTable)
    return WeightType::kQ8_0;
  return role == WeightRole::kExperts ? kFourBitExpertType : kFourBitType;
}

DataType default_kv_type(const Program& program) {
  const bool all_float =
      std::all_of(program.weights.begin(), program.weights.end(),
                  [](const WeightInfo& weight) { return traits(weight.type).is_float(); });
  return all_float ? DataType::kF32 : DataType::kF16;
}

int64_t max_sequence_length(const ModelConfig& config, std::optional<int64_t> wanted) {
  if (!wanted) return std::min(config.max_positions, kDefaultMaxSequenceLength);
  if (*wanted < 1 || *wanted > config.max_positions)
    fail(ErrorCode::kInvalidArgument,
         "--max-seq-len: expected 1 to {}, the model's own context, got {}", config.max_positions,
         *wanted);
  return *wanted;
}

void set_constants(Program& program, const ImportedModel& model, const ExportOptions& options) {
  const int64_t max_length = max_sequence_length(model.config, options.max_sequence_length);
  program.constants = {
      {"get_max_seq_len", {max_length}},
      {"get_vocab_size", {model.config.vocab_size}},
      {"get_min_prefill_chunk", {1}},
      {"get_max_prefill_chunk", {std::min(max_length, kMaxPrefillChunk)}},
      {"get_n_layers", {model.config.layers}},
      {"get_bos_id", {model.bos_id}},
      {"get_eos_ids", model.eos_ids},
      {"use_kv_cache", {1}},
      {"use_sampling", {options.sample ? 1 : 0}},
  };
}

void write_weights(const std::vector<WeightSource>& sources, const Backend& backend,
                   const ExportOptions& options, ProgramWriter& file) {
  ExportProgress progress;
  for (const WeightInfo& weight : file.program().weights) progress.total += weight.bytes;
  WeightWriter writer(
      backend, options.threads, [&](std::span<const std::byte> bytes) { file.append(bytes); },
      [&](uint64_t read, uint64_t written) {
        progress.read = read;
        progress.written = written;
        if (options.progress) options.progress(progress);
      });
  for (size_t i = 0; i < sources.size(); ++i) {
    const WeightInfo& weight = file.program().weights[i];
    const CheckpointTensor* tensor = sources[i].tensor;
    if (tensor == nullptr)
      writer.write_values(sources[i].values);
    else if (is_matrix(weight))
      writer.write_matrices(weight, *tensor);
    else
      writer.write_vector(weight, *tensor);
  }
  writer.finish();
}

}  // namespace

Program export_program(const ImportedModel& model, const ExportOptions& options,
                       const Backend& backend, const std::filesystem::path& path) {
  ProgramBuilder builder(*model.weights);
  Program& program = builder.program;
  build_method(builder, model.config, "forward", Returns::kLastLogits);
  if (options.sample) add_sampling_head(program, program.methods.front());
  build_method(builder, model.config, "prefill", Returns::kNothing);
  if (!options.sample) build_method(builder, model.config, "forward_all", Returns::kAllLogits);

  set_constants(program, model, options);
  program.packing = backend.name();
  for (size_t i = 0; i < program.weights.size(); ++i) {
    WeightInfo& weight = program.weights[i];
    if (!is_matrix(weight)) {
      weight.bytes = static_cast<uint64_t>(weight.columns()) * sizeof(float);
      continue;
    }
    weight.type = exported_type(weight, builder.sources[i].role, options.quantization);
    weight.bytes = static_cast<uint64_t>(weight.matrices()) *
                   backend.packed_bytes(weight.type, weight.rows(), weight.columns());
  }
  const DataType kv_type = options.kv_type.value_or(default_kv_type(program));
  for (KvCacheSpec& state : program.kv_caches) state.type = kv_type;
  program.provenance = {{"source", model.source_name},
                        {"format", model.format},
                        {"architecture", model.config.architecture},
                        {"source_weights", model.weight_summary},
                        {"quantize", std::string(name(options.quantization))},
                        {"exported_by", "gumbel " GUMBEL_VERSION}};
  std::vector<std::byte> tokenizer;
  if (model.tokenizer) tokenizer = serialize_tokenizer(*model.tokenizer);
  program.tokenizer = tokenizer;
  program.chat_template = model.chat_template;
  const ThoughtMarkers markers = told_thought_markers(model.chat_template);
  program.thoughts = {markers.begin, markers.end, markers.header, markers.anywhere};

  ProgramWriter writer(path, std::move(program));
  write_weights(builder.sources, backend, options, writer);
  writer.finish();
  Program result = writer.program();
  result.tokenizer = {};
  return result;
}

}  // namespace gumbel
