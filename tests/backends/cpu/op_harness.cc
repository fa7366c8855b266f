#include "backends/cpu/op_harness.h"

#include <cmath>
#include <cstring>
#include <map>
#include <new>

#include "base/float16.h"

namespace gumbel::cpu {
namespace {

int64_t product(const std::vector<int64_t>& dims) {
  int64_t elements = 1;
  for (int64_t dim : dims) elements *= dim;
  return elements;
}

Tensor make_tensor(DataType type, const std::vector<int64_t>& dims, std::byte* data) {
  Tensor tensor;
  tensor.type = type;
  tensor.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), tensor.dims.begin());
  tensor.data = data;
  return tensor;
}

float random_half(std::mt19937& random, float low, float high) {
  return f16_to_f32(f32_to_f16(std::uniform_real_distribution<float>(low, high)(random)));
}

int random_int(std::mt19937& random, int low, int high) {
  return std::uniform_int_distribution<int>(low, high)(random);
}

}  // namespace

Buffer::Buffer(size_t bytes)
    : size_(bytes),
      data_(static_cast<std::byte*>(::operator new(bytes == 0 ? 1 : bytes, std::align_val_t{64}))) {
  std::memset(data_.get(), 0xFF, bytes);
}

Operand::Operand(DataType type, std::vector<int64_t> dims)
    : buffer_(static_cast<size_t>(product(dims) * size_of(type))) {
  tensor_ = make_tensor(type, dims, buffer_.data());
}

Operand::Operand(std::vector<int64_t> dims, const std::vector<float>& values)
    : Operand(DataType::kF32, std::move(dims)) {
  EXPECT_EQ(values.size() * sizeof(float), buffer_.size());
  std::memcpy(buffer_.data(), values.data(), buffer_.size());
}

Operand::Operand(std::vector<int64_t> dims, const std::vector<int64_t>& values)
    : Operand(DataType::kI64, std::move(dims)) {
  EXPECT_EQ(values.size() * sizeof(int64_t), buffer_.size());
  std::memcpy(buffer_.data(), values.data(), buffer_.size());
}

std::vector<float> Operand::floats() const {
  const auto* data = tensor_.as<const float>();
  return {data, data + tensor_.elements()};
}

std::vector<int64_t> Operand::integers() const {
  const auto* data = tensor_.as<const int64_t>();
  return {data, data + tensor_.elements()};
}

Weight::Weight(const Backend& backend, std::span<const WeightRows> matrices)
    : buffer_(matrices.size() *
              backend.packed_bytes(matrices[0].type, matrices[0].rows, matrices[0].columns)) {
  const size_t bytes = buffer_.size() / matrices.size();
  for (size_t i = 0; i < matrices.size(); ++i)
    backend.pack(matrices[i], {buffer_.data() + i * bytes, bytes});
  packed_ = {matrices[0].type,    static_cast<int64_t>(matrices.size()),
             matrices[0].rows,    matrices[0].columns,
             /*is_vector=*/false, buffer_.data()};
}

Weight::Weight(const std::vector<float>& vector) : buffer_(vector.size() * sizeof(float)) {
  std::memcpy(buffer_.data(), vector.data(), buffer_.size());
  packed_ = {WeightType::kF32, 1, 1, static_cast<int64_t>(vector.size()), true, buffer_.data()};
}

Cache::Cache(DataType type, int64_t batch, int64_t kv_heads, int64_t key_dim, int64_t value_dim,
             int64_t capacity)
    : keys_(static_cast<size_t>(batch * kv_heads * capacity * key_dim * size_of(type))),
      values_(static_cast<size_t>(batch * kv_heads * capacity * value_dim * size_of(type))),
      cache_{type, batch, kv_heads, key_dim, value_dim, capacity, keys_.data(), values_.data()} {}

Recurrent::Recurrent(int64_t batch, int64_t elements)
    : buffer_(static_cast<size_t>(batch * elements) * sizeof(float)),
      state_{batch, elements, reinterpret_cast<float*>(buffer_.data())} {}

std::vector<float> Recurrent::floats() const {
  return {state_.data, state_.data + state_.batch * state_.elements};
}

void execute(Backend& backend, const Node& node, std::vector<const Operand*> inputs,
             std::vector<const Weight*> weights, std::vector<const Operand*> outputs, Cache* cache,
             Recurrent* recurrent) {
  std::vector<Tensor> input_tensors, output_tensors;
  for (const Operand* input : inputs) input_tensors.push_back(input->tensor());
  for (const Operand* output : outputs) output_tensors.push_back(output->tensor());
  std::vector<PackedWeight> packed;
  for (const Weight* weight : weights) packed.push_back(weight->packed());
  OpCall call;
  call.node = &node;
  call.inputs = input_tensors;
  call.weights = packed;
  call.outputs = output_tensors;
  call.cache = cache == nullptr ? nullptr : cache->get();
  call.recurrent = recurrent == nullptr ? nullptr : recurrent->get();
  const Buffer scratch(backend.scratch_bytes(call));
  call.scratch = {scratch.data(), scratch.size()};
  backend.execute(call);
}

std::vector<float> run(Backend& backend, const Node& node, std::vector<const Operand*> inputs,
                       std::vector<const Weight*> weights, const std::vector<int64_t>& output,
                       Cache* cache) {
  const Operand out(DataType::kF32, output.empty() ? std::vector<int64_t>{0} : output);
  std::vector<const Operand*> outputs;
  if (!output.empty()) outputs.push_back(&out);
  execute(backend, node, std::move(inputs), std::move(weights), outputs, cache);
  return out.floats();
}

WeightRows random_rows(WeightType type, int64_t rows, int64_t columns, std::mt19937& random) {
  const WeightTraits& t = traits(type);
  WeightRows weights;
  weights.resize(type, rows, columns);
  for (float& x : weights.floats) x = std::normal_distribution<float>()(random);
  for (uint16_t& x : weights.halves) {
    const float value = std::normal_distribution<float>()(random);
    x = type == WeightType::kF16 ? f32_to_f16(value) : f32_to_bf16(value);
  }
  for (uint8_t& code : weights.codes)
    code = static_cast<uint8_t>(random_int(random, 0, (1 << t.element_bits) - 1));
  for (float& scale : weights.scale)
    scale = t.f32_scale ? std::ldexp(1.0f, random_int(random, -40, 3))
                        : random_half(random, -0.02f, 0.02f);
  for (float& minimum : weights.minimum) minimum = random_half(random, -0.02f, 0.1f);
  const int low = type == WeightType::kQ6_K                                  ? -128
                  : type == WeightType::kQ3_K || type == WeightType::kIQ4_XS ? -32
                                                                             : 0;
  const int high = type == WeightType::kQ6_K   ? 127
                   : type == WeightType::kQ2_K ? 15
                   : low < 0                   ? 31
                                               : 63;
  for (int8_t& scale : weights.sub_scale)
    scale = static_cast<int8_t>(random_int(random, low, high));
  for (uint8_t& minimum : weights.sub_minimum)
    minimum = static_cast<uint8_t>(random_int(random, 0, high));
  return weights;
}

std::vector<float> random_floats(size_t count, std::mt19937& random, float spread) {
  std::normal_distribution<float> normal(0.0f, spread);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

const std::vector<NamedBackend>& cpu_backends(int threads) {
  static std::map<int, std::vector<NamedBackend>> all;
  std::vector<NamedBackend>& backends = all[threads];
  if (backends.empty())
    for (CpuTarget target : supported_targets())
      backends.push_back(
          {std::string(name(target)), std::make_unique<CpuBackend>(target, threads)});
  return backends;
}

testing::AssertionResult same_bits(const std::vector<float>& actual,
                                   const std::vector<float>& expected) {
  if (actual.size() != expected.size())
    return testing::AssertionFailure()
           << actual.size() << " elements, expected " << expected.size();
  for (size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(actual[i]) && std::isnan(expected[i])) continue;
    if (std::bit_cast<uint32_t>(actual[i]) == std::bit_cast<uint32_t>(expected[i])) continue;
    return testing::AssertionFailure() << "element " << i << ": got " << std::hexfloat << actual[i]
                                       << ", expected " << expected[i];
  }
  return testing::AssertionSuccess();
}

}  // namespace gumbel::cpu
