// Building the graph of a program, op by op.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "export/checkpoint.h"
#include "program/program.h"

namespace gumbel {

/// Index of a value within its method.
using ValueId = int32_t;

/// What a matrix does, which decides what quantizing makes of it.
enum class WeightRole {
  kProjection,  ///< the matrices that most of a model's work goes through
  kTokenTable,  ///< rows by token: embeddings, and the LM head
  kExperts,     ///< of which a token uses a few
  kGate,        ///< small ones that decide instead of transform: routers, decays
};

/// Where the bytes of an exported weight come from.
struct WeightSource {
  const CheckpointTensor* tensor = nullptr;  ///< null: `values`
  std::vector<float> values;                 ///< a vector computed at export
  WeightRole role = WeightRole::kProjection;
};

/// Collects the weights and states that the methods of a program share, each under its name once.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  /// The tensor `name` of the checkpoint, a matrix [rows, columns] or [matrices, rows, columns];
  /// errors of the checkpoint pass through.
  int32_t matrix(const std::string& name, const Shape& shape, WeightRole role);
  /// The vector `name` of the checkpoint; it is stored as f32.
  int32_t vector(const std::string& name, int64_t elements);
  /// A vector that the exporter computed. Throws Error(kInvalidArgument) where a value is not
  /// finite.
  int32_t computed_vector(const std::string& name, std::vector<float> values);
  /// Whether the checkpoint has the tensor `name`.
  bool has(std::string_view name) const { return checkpoint_.has(name); }
  /// The elements of a small tensor of the checkpoint, for what is computed from it. Throws
  /// Error(kInvalidArgument) naming the tensor, row and column of one that is not finite.
  std::vector<float> values(const std::string& name, const Shape& shape) const;
  /// The cache `spec.name`; its type is settled at export.
  int32_t kv_cache(const KvCacheSpec& spec);
  int32_t recurrent_state(const RecurrentStateSpec& spec);

  Program program;
  std::vector<WeightSource> sources;  ///< of program.weights

 private:
  std::optional<int32_t> find_weight(const std::string& name) const;
  int32_t add_weight(const std::string& name, WeightType type, Shape shape, WeightSource source);
  const Checkpoint& checkpoint_;
};

/// Builds one method. Every function appends one node and returns its output; the ops are described
/// at `Op`. Throws Error(kCorruptFile) where operands do not fit.
class MethodBuilder {
 public:
  MethodBuilder(ProgramBuilder& program, std::string name);

  ValueId input(std::string name, DataType type, Shape shape);

  ValueId embedding(ValueId tokens, const std::string& table, int64_t vocab, int64_t width,
                    float scale);
  ValueId rms_norm(ValueId x, const std::string& weight, double epsilon);
  /// The same with a weight that the exporter computed, under `name`.
  ValueId rms_norm(ValueId x, const std::string& name, std::vector<float> weight, double epsilon);
  /// x W^T, W [rows, last dimension of x].
  ValueId linear(ValueId x, const std::string& weight, int64_t rows,
                 WeightRole role = WeightRole::kProjection);
  ValueId rotary_table(ValueId input_pos, const std::string& name, std::vector<float> frequencies);
  ValueId rotary(ValueId x, ValueId table);
  void cache_update(ValueId keys, ValueId values, ValueId input_pos, int32_t cache);
  ValueId attention(ValueId queries, ValueId input_pos, int32_t cache, float scale);
  ValueId add(ValueId a, ValueId b);
  ValueId gated_activation(ValueId gate, ValueId up, Activation activation);
  ValueId scale(ValueId x, double factor);
  ValueId soft_cap(ValueId x, double cap);
  /// Elements [begin, end) of the last dimension.
  ValueId slice(ValueId x, int64_t begin, int64_t end);
  struct Routing {
    ValueId experts;  ///< i64 [B, T, top_k]
    ValueId weights;  ///< f32 [B, T, top_k]
  };
  /// `factors`: a vector [experts] of the checkpoint, or empty.
  Routing router(ValueId scores, int64_t top_k, const std::string& factors = "");
  /// x W^T with each choice's own W [rows, last dimension of x], of `expert_count`.
  ValueId expert_linear(ValueId x, const Routing& routing, const std::string& weight,
                        int64_t expert_count, int64_t rows);
  ValueId expert_sum(ValueId x, const Routing& routing);
  /// `taps` [width, channels], computed by the exporter, under `name`, as is the state's.
  ValueId causal_conv(ValueId x, ValueId input_pos, const std::string& name,
                      std::vector<float> taps);
  struct DeltaRule {
    std::string name;         ///< of the state; rate and bias are named after it
    ValueId q, k, v;          ///< f32 [B, T, heads of its own, dimension of its own]
    ValueId decay, strength;  ///< f32 [B, T, heads]
    std::vector<float> rate, bias;
    HeadOrder head_order = HeadOrder::kGrouped;
  };
  ValueId gated_delta_rule(const DeltaRule& rule, ValueId input_pos);
  ValueId select_last(ValueId x);
  /// [B, T, heads * dim] to [B, T, heads, dim].
  ValueId split_heads(ValueId x, int64_t heads);
  /// [B, T, heads, dim] to [B, T, heads * dim].
  ValueId join_heads(ValueId x);

  /// Ends the method with these outputs and adds it to the program.
  void finish(std::vector<ValueId> outputs);

  ProgramBuilder& program() { return program_; }

 private:
  /// Returns the first output; further ones follow it.
  ValueId append(Node node);
  ValueId reshape(ValueId x, Shape shape);
  const Shape& shape(ValueId value) const;

  ProgramBuilder& program_;
  Method method_;
};

}  // namespace gumbel
