// The graph of a program: values, nodes and methods, as plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gumbel {

/// Element type of a value that flows through a graph.
enum class DataType : uint8_t { kF32, kF16, kI64 };

constexpr int64_t size_of(DataType type) {
  return type == DataType::kI64 ? 8 : type == DataType::kF32 ? 4 : 2;
}

/// Dimensions that are known only when a method is called.
inline constexpr int64_t kBatch = -1;  ///< B: sequences that run side by side
inline constexpr int64_t kTime = -2;   ///< T: positions of one call, a prefill chunk or 1
inline constexpr int64_t kPerRow =
    -3;  ///< one value for all rows of the batch, or one each: 1 or B

/// Outermost first. Each dimension is positive or one of the symbols; at most kMaxRank of them.
/// kPerRow stands alone, and only kSample takes it.
using Shape = std::vector<int64_t>;
inline constexpr size_t kMaxRank = 4;

/// The operations of a graph. Shapes are those of one call; [..., K] is any rank from 1 to 4. What
/// each computes, down to the order of its roundings, is in docs/numerics.md, and in code in
/// src/backends/reference.
enum class Op : uint8_t {
  /// inputs: tokens i64 [B, T]; weights: table [V, D]. Output f32 [B, T, D] = table[token] * scale.
  kEmbedding,
  /// inputs: x f32 [..., K]; weights: w [K]. x / sqrt(mean(x^2) + epsilon) * w over the last
  /// dimension (Zhang and Sennrich 2019).
  kRmsNorm,
  /// inputs: x f32 [..., K]; weights: W [N, K]. Output f32 [..., N] = x W^T.
  kLinear,
  /// inputs: input_pos i64 [B, T]; weights: frequencies [H]. Output f32 [B, T, 2 H]: cosines, then
  /// sines, of position * frequency.
  kRotaryTable,
  /// inputs: x f32 [B, T, heads, D], table f32 [B, T, 2 H] with 2 H <= D. Rotates the pairs
  /// (x[i], x[i + H]), i < H, of every head (Su et al. 2021, half-split order); the rest passes.
  kRotary,
  /// inputs: k f32 [B, T, kv_heads, Dk], v f32 [B, T, kv_heads, Dv], input_pos i64 [B, T]; a state.
  /// No output: stores the T positions in the key-value cache.
  kCacheUpdate,
  /// inputs: q f32 [B, T, heads, Dk], input_pos i64 [B, T]; a state. Output f32 [B, T, heads, Dv]:
  /// causal softmax attention over the cache; with window > 0 a query at position p sees
  /// p - window + 1 to p. heads is a multiple of the cache's kv_heads.
  kAttention,
  /// inputs: a, b f32 of one shape. a + b.
  kAdd,
  /// inputs: gate, up f32 of one shape, or gate with a last dimension of 1: one gate for a row.
  /// activation(gate) * up (Shazeer 2020).
  kGatedActivation,
  /// inputs: x f32 [B, T, D]. Output f32 [B, D]: the last of the T.
  kSelectLast,
  /// inputs: x of any type. The same elements in the output's shape.
  kReshape,
  /// inputs: logits f32 [B, V] or [B, T, V], then temperature f32, top_k i64, top_p f32, seed i64,
  /// min_p f32, each [kPerRow], then optionally input_pos i64 [B, T]. Output i64 [B]: the tokens
  /// drawn (docs/sampling.md); of [B, T, V] the last T is sampled.
  kSample,
  /// inputs: x f32. x * scale.
  kScale,
  /// inputs: x f32. scale * tanh(x / scale) (Gemma Team 2024, "Gemma 2").
  kSoftCap,
  /// inputs: x f32 [..., D]. Output f32 [..., end - begin]: the elements [begin, end) of each row.
  kSlice,
  /// inputs: scores f32 [B, T, E]; weights: optionally factors [E]. Outputs: experts i64 [B, T, S],
  /// the S = top_k experts of the largest scores, the largest first and of equals the lower; and
  /// their weights f32 [B, T, S]: the softmax over the S scores, times the expert's factor (Shazeer
  /// et al. 2017, top-k gating).
  kRouter,
  /// inputs: x f32 [B, T, K], or [B, T, S, K] with a row for each choice; experts i64 [B, T, S] of
  /// a
  /// kRouter; weights: W [E, N, K]. Output f32 [B, T, S, N] = x W[expert]^T. Of W, only what the
  /// chosen experts need is read.
  kExpertLinear,
  /// inputs: x f32 [B, T, S, D], weights f32 [B, T, S]. Output f32 [B, T, D]: the sum over S of
  /// weight * x.
  kExpertSum,
  /// inputs: x f32 [B, T, C], input_pos i64 [B, T]; weights: taps [W * C], the oldest position's
  /// first; a recurrent state [W - 1, C], the last inputs. Output f32 [B, T, C]: silu of each
  /// channel's own causal convolution over W positions, those before position 0 being zero.
  kCausalConv,
  /// inputs: q, k f32 [B, T, key_heads, Dk], v f32 [B, T, heads, Dv], decay and strength f32
  /// [B, T, heads], input_pos i64 [B, T]; weights: rate [heads], bias [heads]; a recurrent state S
  /// [heads, Dk, Dv], zero before position 0. heads is a multiple of key_heads; head h has the keys
  /// and queries of key_head(head_order, h, heads, key_heads). Output f32 [B, T, heads, Dv] = S^T q
  /// after, position by position, S = exp(rate * softplus(decay + bias)) S, then S += k
  /// (sigmoid(strength) (v - S^T k))^T (Yang, Kautz and Hatamizadeh 2025, "Gated Delta Networks").
  kGatedDeltaRule,
};

/// Whether the op's state is a recurrent one (Program::recurrent_states) and not a key-value cache.
constexpr bool has_recurrent_state(Op op) {
  return op == Op::kCausalConv || op == Op::kGatedDeltaRule;
}

/// Whether the op changes its state, so that it matters though nothing reads its outputs.
constexpr bool stores_state(Op op) { return op == Op::kCacheUpdate || has_recurrent_state(op); }

enum class Activation : uint8_t { kSilu, kGeluTanh, kSigmoid };

/// How heads lie that share key heads. kGrouped: those of the first key head, then those of the
/// second, and so on. kTiled: one of each key head, then another of each, and so on.
enum class HeadOrder : uint8_t { kGrouped, kTiled };

/// The key head of `head`; heads is a multiple of key_heads.
constexpr int64_t key_head(HeadOrder order, int64_t head, int64_t heads, int64_t key_heads) {
  return order == HeadOrder::kTiled ? head % key_heads : head / (heads / key_heads);
}

/// Parameters of a node; each op reads those that its description names.
struct Attributes {
  float epsilon = 0;   ///< kRmsNorm
  float scale = 1;     ///< kEmbedding, kScale, kSoftCap; kAttention: factor of the scores
  int64_t window = 0;  ///< kAttention: 0 means all earlier positions
  Activation activation = Activation::kSilu;   ///< kGatedActivation
  int64_t begin = 0;                           ///< kSlice
  int64_t end = 0;                             ///< kSlice
  int64_t top_k = 0;                           ///< kRouter
  HeadOrder head_order = HeadOrder::kGrouped;  ///< kGatedDeltaRule

  bool operator==(const Attributes&) const = default;
};

/// A tensor of a method: an input, or what a node computes.
struct Value {
  std::string name;
  DataType type = DataType::kF32;
  Shape shape;

  bool operator==(const Value&) const = default;
};

/// One operation. Numbers index Method::values, Program::weights and either Program::kv_caches or
/// Program::recurrent_states.
struct Node {
  Op op = Op::kReshape;
  std::vector<int32_t> inputs;
  std::vector<int32_t> weights;
  std::vector<int32_t> outputs;
  int32_t state = -1;  ///< kCacheUpdate, kAttention, kCausalConv, kGatedDeltaRule
  Attributes attributes;

  bool operator==(const Node&) const = default;
};

/// An argument of a method. One with a default may be left out by the caller, as may those after
/// it; it then has shape [1] and that value.
struct Input {
  int32_t value = 0;
  std::optional<double> default_value;

  bool operator==(const Input&) const = default;
};

/// A function of a program: nodes in the order of their execution.
struct Method {
  std::string name;
  std::vector<Value> values;
  std::vector<Input> inputs;
  std::vector<int32_t> outputs;
  std::vector<Node> nodes;

  bool operator==(const Method&) const = default;
};

/// State that a session keeps between calls: the keys and values of one attention layer.
struct KvCacheSpec {
  std::string name;
  int64_t kv_heads = 0;
  int64_t key_dim = 0;
  int64_t value_dim = 0;
  DataType type = DataType::kF16;  ///< kF16 or kF32
  int64_t window = 0;  ///< positions that a query sees; 0: all, up to the maximum sequence length

  bool operator==(const KvCacheSpec&) const = default;
};

/// State of a fixed size that a session keeps between calls and that every position changes, f32.
struct RecurrentStateSpec {
  std::string name;
  Shape shape;  ///< of one row of the batch, all dimensions known

  bool operator==(const RecurrentStateSpec&) const = default;
};

}  // namespace gumbel
