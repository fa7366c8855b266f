// The ops with a recurrent state.
#include "program/infer.h"

namespace gumbel {

Value infer_causal_conv(const Operands& operands) {
  operands.counts(2, 1, true);
  const Shape& x = operands.input(0, DataType::kF32, 3);
  operands.require(x[0] == kBatch && x[1] == kTime && x[2] > 0, "x [B, T, C]", x);
  operands.input_is_given(1);
  const int64_t taps = operands.weight(0, 1).columns();
  operands.require(taps % x[2] == 0 && taps / x[2] >= 2,
                   fmt::format("channels that {} taps are two or more of each", taps), x);
  operands.state_is({taps / x[2] - 1, x[2]});
  return f32(x);
}

Value infer_gated_delta_rule(const Operands& operands) {
  operands.counts(6, 2, true);
  const Shape& k = operands.input(1, DataType::kF32, 4);
  const Shape& v = operands.input(2, DataType::kF32, 4);
  operands.require(k[0] == kBatch && k[1] == kTime && k[2] > 0 && k[3] > 0,
                   "keys [B, T, key_heads, Dk]", k);
  operands.require(v[0] == kBatch && v[1] == kTime && v[2] > 0 && v[2] % k[2] == 0 && v[3] > 0,
                   fmt::format("values [B, T, a multiple of {}, Dv]", k[2]), v);
  operands.input_is(0, DataType::kF32, k);
  operands.input_is(3, DataType::kF32, {kBatch, kTime, v[2]});
  operands.input_is(4, DataType::kF32, {kBatch, kTime, v[2]});
  operands.input_is_given(5);
  operands.vector_is(0, v[2]);
  operands.vector_is(1, v[2]);
  operands.state_is({v[2], k[3], v[3]});
  return f32(v);
}

}  // namespace gumbel
