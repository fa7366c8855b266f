// A program: the methods, weights, states and metadata that one file holds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "program/graph.h"
#include "program/weight_type.h"

namespace gumbel {

/// A weight and where its bytes lie in the program file.
struct WeightInfo {
  std::string name;
  WeightType type = WeightType::kF32;
  /// [rows, columns] of a matrix, [matrices, rows, columns] of several, or [elements] of a vector,
  /// which is always kF32.
  Shape shape;
  uint64_t offset = 0;  ///< from the start of the file, a multiple of kSegmentAlignment
  uint64_t bytes = 0;
  uint64_t checksum = 0;  ///< xxh3, 64 bits, of those bytes

  int64_t matrices() const { return shape.size() == 3 ? shape[0] : 1; }
  int64_t rows() const { return shape.size() < 2 ? 1 : shape[shape.size() - 2]; }
  int64_t columns() const { return shape.back(); }
  bool operator==(const WeightInfo&) const = default;
};

/// Weight segments start on a page, so that each can be mapped on its own.
inline constexpr uint64_t kSegmentAlignment = 4096;

/// Everything a program file says but the bytes of its weights.
/// How replies mark thoughts; without `begin` and `end` they have none.
struct ThoughtText {
  std::string begin;
  std::string end;
  std::string header;     ///< follows `begin` and is not a part of the thought
  bool anywhere = false;  ///< thoughts may stand at any place of a reply

  bool operator==(const ThoughtText&) const = default;
};

struct Program {
  std::string packing;  ///< name of the backend whose arrangement the matrices have
  std::vector<WeightInfo> weights;
  std::vector<KvCacheSpec> kv_caches;
  std::vector<RecurrentStateSpec> recurrent_states;
  std::vector<Method> methods;
  /// Constant methods by name; most have one value, `get_eos_ids` has any number.
  std::map<std::string, std::vector<int64_t>> constants;
  /// Where the program came from, by key: "source", "architecture", "exported_by", ...
  std::map<std::string, std::string> provenance;
  std::string chat_template;  ///< Jinja text; empty: none
  ThoughtText thoughts;
  std::span<const std::byte> tokenizer;  ///< record of src/text; empty: none

  /// The method of that name, or null.
  const Method* method(std::string_view name) const;
  /// The value of a constant method that has exactly one. Throws Error(kNotFound).
  int64_t constant(std::string_view name) const;
};

/// Throws Error(kCorruptFile) unless every index, type, shape, attribute and constant of `program`
/// is sound: values are defined once and before their use, each node's outputs have the shapes that
/// its inputs give, and weights neither overlap nor leave [0, file_bytes). After this a program can
/// be planned and executed without further checks of its structure.
void verify(const Program& program, uint64_t file_bytes);

/// The types and shapes (names are empty) that `node` computes from its operands, which must exist.
/// Throws Error(kCorruptFile) "[op] expected ..., got ..." where they do not fit.
std::vector<Value> infer_outputs(const Program& program, const Method& method, const Node& node);

/// "embedding", "linear", ...
std::string_view name(Op op);
inline constexpr int kOpCount = static_cast<int>(Op::kGatedDeltaRule) + 1;

/// "[B, T, 64]"
std::string to_string(const Shape& shape);
std::string_view name(DataType type);

}  // namespace gumbel
