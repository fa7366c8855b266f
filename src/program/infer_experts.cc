// The ops of mixtures of experts.
#include "program/infer.h"

namespace gumbel {
namespace {

// The shape [B, T, E] of the scores behind `experts`, input i of an op. Their ids lie in [0, E)
// because a router computed them; ids from elsewhere could not be trusted.
const Shape& routed_scores(const Operands& operands, size_t i) {
  operands.input(i, DataType::kI64, 3);
  const Node* router = operands.producer(i);
  if (router == nullptr || router->op != Op::kRouter)
    fail(ErrorCode::kCorruptFile, "[expert_linear] input {}: expected the experts of a router", i);
  return operands.shape_of(router->inputs[0]);
}

}  // namespace

std::vector<Value> infer_router(const Operands& operands) {
  operands.counts(1, operands.weight_count() == 0 ? 0 : 1, false);
  const Shape& scores = operands.input(0, DataType::kF32, 3);
  const int64_t top_k = operands.attributes().top_k;
  operands.require(scores[0] == kBatch && scores[1] == kTime && top_k > 0 && top_k <= scores[2],
                   fmt::format("scores [B, T, at least top_k = {}]", top_k), scores);
  if (operands.weight_count() == 1) operands.vector_is(0, scores[2]);
  const Shape chosen = {kBatch, kTime, top_k};
  return {{"", DataType::kI64, chosen}, {"", DataType::kF32, chosen}};
}

Value infer_expert_linear(const Operands& operands) {
  operands.counts(2, 1, false);
  const Shape& x = operands.input(0, DataType::kF32, 0);
  const Shape& scores = routed_scores(operands, 1);
  const Shape& experts = operands.input(1).shape;
  const WeightInfo& weight = operands.weight(0, 3);
  operands.require(scores[2] == weight.matrices(),
                   fmt::format("scores of {} experts", weight.matrices()), scores);
  const Shape shared = {kBatch, kTime, weight.columns()};
  const Shape own = {kBatch, kTime, experts[2], weight.columns()};
  operands.require(x == shared || x == own,
                   fmt::format("{} or {}", to_string(shared), to_string(own)), x);
  return f32({kBatch, kTime, experts[2], weight.rows()});
}

Value infer_expert_sum(const Operands& operands) {
  operands.counts(2, 0, false);
  const Shape& x = operands.input(0, DataType::kF32, 4);
  operands.require(x[0] == kBatch && x[1] == kTime && x[2] > 0 && x[3] > 0, "x [B, T, S, D]", x);
  operands.input_is(1, DataType::kF32, {kBatch, kTime, x[2]});
  return f32({kBatch, kTime, x[3]});
}

}  // namespace gumbel
