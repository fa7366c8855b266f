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

/// Where the bytes of an exported weight come from.
struct WeightSource {
  const CheckpointTensor* tensor = nullptr;  ///< null: `values`
  std::vector<float> values;                 ///< a vector computed at export
};

/// Collects the weights and states that the methods of a program share, each under its name once.
class ProgramBuilder {
 public:
  explicit ProgramBuilder(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  /// The matrix `name` [rows, columns] of the checkpoint, whose errors pass through.
  int32_t matrix(const std::string& name, int64_t rows, int64_t columns);
  /// The vector `name` of the checkpoint; it is stored as f32.
  int32_t vector(const std::string& name, int64_t elements);
  /// A vector that the exporter computed.
  int32_t computed_vector(const std::string& name, std::vector<float> values);
  /// The cache `spec.name`; its type is settled at export.
  int32_t kv_cache(const KvCacheSpec& spec);

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
  /// x W^T, W [rows, last dimension of x].
  ValueId linear(ValueId x, const std::string& weight, int64_t rows);
  ValueId rotary_table(ValueId input_pos, const std::string& name, std::vector<float> frequencies);
  ValueId rotary(ValueId x, ValueId table);
  void cache_update(ValueId keys, ValueId values, ValueId input_pos, int32_t cache);
  ValueId attention(ValueId queries, ValueId input_pos, int32_t cache, float scale);
  ValueId add(ValueId a, ValueId b);
  ValueId gated_activation(ValueId gate, ValueId up, Activation activation);
  ValueId select_last(ValueId x);
  /// [B, T, heads * dim] to [B, T, heads, dim].
  ValueId split_heads(ValueId x, int64_t heads);
  /// [B, T, heads, dim] to [B, T, heads * dim].
  ValueId join_heads(ValueId x);

  /// Ends the method with these outputs and adds it to the program.
  void finish(std::vector<ValueId> outputs);

  ProgramBuilder& program() { return program_; }

 private:
  ValueId append(Node node);
  ValueId reshape(ValueId x, Shape shape);
  const Shape& shape(ValueId value) const;

  ProgramBuilder& program_;
  Method method_;
};

}  // namespace gumbel
