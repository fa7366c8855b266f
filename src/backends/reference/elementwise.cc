#include <algorithm>
#include <cmath>
#include <cstring>

#include "backends/reference/ops.h"
#include "backends/reference/packing.h"
#include "base/exp.h"
#include "base/sincos.h"
#include "base/tanh.h"

namespace gumbel::reference {

float tree_sum(float (&partial)[16]) {
  for (int width = 8; width > 0; width /= 2)
    for (int i = 0; i < width; ++i) partial[i] = partial[i] + partial[i + width];
  return partial[0];
}

void embedding(const OpCall& call) {
  const Tensor& tokens = call.inputs[0];
  const PackedWeight& table = call.weights[0];
  const float scale = call.node->attributes.scale;
  const uint64_t bytes = row_bytes(table.type, table.columns);
  WeightRows row;
  float* out = call.outputs[0].as<float>();
  for (int64_t i = 0; i < tokens.elements(); ++i, out += table.columns) {
    const auto token = static_cast<uint64_t>(tokens.as<int64_t>()[i]);
    unpack_rows(table.data + token * bytes, table.type, 1, table.columns, row);
    for (int64_t d = 0; d < table.columns; ++d) {
      const float x = element(row, 0, d);
      out[d] = scale == 1.0f ? x : x * scale;
    }
  }
}

void rms_norm(const OpCall& call) {
  const Tensor& x = call.inputs[0];
  const float* weight = reinterpret_cast<const float*>(call.weights[0].data);
  const int64_t n = x.last();
  const float* in = x.as<float>();
  float* out = call.outputs[0].as<float>();
  for (int64_t row = 0; row < x.elements() / n; ++row, in += n, out += n) {
    float partial[16] = {};
    for (int64_t i = 0; i < n; ++i) partial[i % 16] = std::fma(in[i], in[i], partial[i % 16]);
    const float mean = tree_sum(partial) / static_cast<float>(n);
    const float r = 1.0f / std::sqrt(mean + call.node->attributes.epsilon);
    for (int64_t i = 0; i < n; ++i) out[i] = (in[i] * r) * weight[i];
  }
}

void rotary_table(const OpCall& call) {
  const Tensor& positions = call.inputs[0];
  const auto* frequencies = reinterpret_cast<const float*>(call.weights[0].data);
  const int64_t half = call.weights[0].columns;
  float* out = call.outputs[0].as<float>();
  for (int64_t i = 0; i < positions.elements(); ++i, out += 2 * half) {
    const auto position = static_cast<double>(positions.as<int64_t>()[i]);
    for (int64_t h = 0; h < half; ++h) {
      const SinCos angle = sincos_f64(position * static_cast<double>(frequencies[h]));
      out[h] = static_cast<float>(angle.cos);
      out[half + h] = static_cast<float>(angle.sin);
    }
  }
}

void rotary(const OpCall& call) {
  const Tensor& x = call.inputs[0];
  const Tensor& table = call.inputs[1];
  const int64_t heads = x.dims[2];
  const int64_t dim = x.dims[3];
  const int64_t half = table.last() / 2;
  const float* in = x.as<float>();
  float* out = call.outputs[0].as<float>();
  for (int64_t i = 0; i < x.elements() / dim; ++i, in += dim, out += dim) {
    const float* cosine = table.as<float>() + (i / heads) * 2 * half;
    const float* sine = cosine + half;
    for (int64_t h = 0; h < half; ++h) {
      out[h] = std::fma(in[h], cosine[h], -(in[half + h] * sine[h]));
      out[half + h] = std::fma(in[half + h], cosine[h], in[h] * sine[h]);
    }
    for (int64_t d = 2 * half; d < dim; ++d) out[d] = in[d];
  }
}

void add(const OpCall& call) {
  const float* a = call.inputs[0].as<float>();
  const float* b = call.inputs[1].as<float>();
  float* out = call.outputs[0].as<float>();
  for (int64_t i = 0; i < call.outputs[0].elements(); ++i) out[i] = a[i] + b[i];
}

void gated_activation(const OpCall& call) {
  const float* gate = call.inputs[0].as<float>();
  const float* up = call.inputs[1].as<float>();
  float* out = call.outputs[0].as<float>();
  const Activation activation = call.node->attributes.activation;
  const int64_t up_of_gate = call.inputs[1].last() / call.inputs[0].last();
  for (int64_t i = 0; i < call.outputs[0].elements(); ++i) {
    const float x = gate[i / up_of_gate];
    // silu(x) = x * sigmoid(x). gelu_tanh(x) = x (1 + tanh u) / 2 = x * sigmoid(2 u), with
    // u = sqrt(2 / pi) (x + 0.044715 x^3).
    const float exponent = activation == Activation::kGeluTanh
                               ? -1.5957691216f * std::fma(0.044715f * (x * x), x, x)
                               : -x;
    const float numerator = activation == Activation::kSigmoid ? 1.0f : x;
    out[i] = (numerator / (1.0f + exp_f32(exponent))) * up[i];
  }
}

void scale(const OpCall& call) {
  const float* x = call.inputs[0].as<float>();
  float* out = call.outputs[0].as<float>();
  for (int64_t i = 0; i < call.outputs[0].elements(); ++i)
    out[i] = x[i] * call.node->attributes.scale;
}

void soft_cap(const OpCall& call) {
  const float* x = call.inputs[0].as<float>();
  float* out = call.outputs[0].as<float>();
  const float cap = call.node->attributes.scale;
  for (int64_t i = 0; i < call.outputs[0].elements(); ++i) out[i] = cap * tanh_f32(x[i] / cap);
}

void slice(const OpCall& call) {
  const Tensor& x = call.inputs[0];
  const int64_t width = call.outputs[0].last();
  for (int64_t row = 0; row < x.elements() / x.last(); ++row)
    std::copy_n(x.as<float>() + row * x.last() + call.node->attributes.begin, width,
                call.outputs[0].as<float>() + row * width);
}

void select_last(const OpCall& call) {
  const Tensor& x = call.inputs[0];
  const int64_t time = x.dims[1];
  const auto row_size = static_cast<size_t>(x.last()) * sizeof(float);
  for (int64_t b = 0; b < x.dims[0]; ++b)
    std::memcpy(call.outputs[0].data + static_cast<size_t>(b) * row_size,
                x.data + static_cast<size_t>(b * time + time - 1) * row_size, row_size);
}

}  // namespace gumbel::reference
