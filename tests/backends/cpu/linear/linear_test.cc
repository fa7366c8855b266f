// Matrix products and embeddings equal the reference backend's, bit for bit, for every weight type,
// instruction set, number of threads and number of rows.

#include <cmath>
#include <limits>

#include "backends/cpu/op_harness.h"

namespace gumbel::cpu {
namespace {

class Linear : public testing::TestWithParam<int> {
 protected:
  WeightType type() const { return static_cast<WeightType>(GetParam()); }
  int64_t columns(int64_t wanted) const {
    const int64_t block = std::max(traits(type()).block, 32);
    return (wanted + block - 1) / block * block;
  }

  /// Compares every target with the reference backend for x [rows, columns].
  void compare(const WeightRows& weights, const std::vector<float>& x, int64_t rows, int threads) {
    SCOPED_TRACE(testing::Message() << rows << " x " << weights.columns << " times " << weights.rows
                                    << ", threads " << threads);
    const std::unique_ptr<Backend> reference = make_reference_backend();
    const Operand input({1, rows, weights.columns}, x);
    Node node;
    node.op = Op::kLinear;
    const std::vector<int64_t> shape = {1, rows, weights.rows};
    const Weight plain(*reference, weights);
    const std::vector<float> expected = run(*reference, node, {&input}, {&plain}, shape);
    for (const NamedBackend& cpu : cpu_backends(threads)) {
      const Weight packed(*cpu.backend, weights);
      EXPECT_TRUE(same_bits(run(*cpu.backend, node, {&input}, {&packed}, shape), expected))
          << cpu.name;
    }
  }

  std::mt19937 random_{20240602};
};

TEST_P(Linear, EqualsReference) {
  const struct {
    int64_t rows, columns, outputs;
    int threads;
  } kShapes[] = {{1, 32, 1, 1},     {1, 256, 16, 1},  {1, 1024, 40, 2}, {2, 288, 17, 1},
                 {3, 96, 33, 1},    {4, 512, 31, 1},  {5, 64, 100, 4},  {6, 224, 48, 1},
                 {7, 160, 129, 1},  {8, 256, 47, 1},  {9, 320, 18, 3},  {33, 128, 70, 1},
                 {16, 1056, 20, 1}, {131, 256, 20, 2}};
  for (const auto& shape : kShapes) {
    const WeightRows weights = random_rows(type(), shape.outputs, columns(shape.columns), random_);
    const std::vector<float> x =
        random_floats(static_cast<size_t>(shape.rows * weights.columns), random_, 2.0f);
    compare(weights, x, shape.rows, shape.threads);
  }
}

TEST_P(Linear, ExtremeActivations) {
  const WeightRows weights = random_rows(type(), 20, columns(256), random_);
  const auto k = static_cast<size_t>(weights.columns);
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> x;
  const auto add_row = [&](float spread) {
    const std::vector<float> row = random_floats(k, random_, spread);
    x.insert(x.end(), row.begin(), row.end());
  };
  add_row(1.0f);
  x[5] = nan;
  add_row(1.0f);
  x[k + 40] = inf;
  add_row(1.0f);
  x[2 * k + 70] = -inf;
  add_row(0.0f);  // zeros of either sign
  add_row(1e30f);
  add_row(1e-30f);
  add_row(0x1p-121f);             // about where 127 / a overflows
  add_row(1e-42f);                // subnormal
  for (size_t i = 0; i < k; ++i)  // ties: halves times a power of two
    x.push_back(i % 32 == 0 ? 127.0f : static_cast<float>(static_cast<int>(i % 200) - 100) + 0.5f);
  for (size_t i = 0; i < k; ++i)  // the largest dot products
    x.push_back(i % 2 == 0 ? -127.0f : 127.0f);
  compare(weights, x, 10, 1);
}

TEST_P(Linear, RowsDoNotDependOnEachOther) {
  const WeightRows weights = random_rows(type(), 50, columns(320), random_);
  const int64_t rows = 13;
  const auto k = static_cast<size_t>(weights.columns);
  std::vector<float> x = random_floats(static_cast<size_t>(rows) * k, random_);
  x[3 * k] = std::numeric_limits<float>::quiet_NaN();
  Node node;
  node.op = Op::kLinear;
  for (const NamedBackend& cpu : cpu_backends(1)) {
    const Weight packed(*cpu.backend, weights);
    const Operand all({rows, weights.columns}, x);
    const std::vector<float> together =
        run(*cpu.backend, node, {&all}, {&packed}, {rows, weights.rows});
    for (int64_t row = 0; row < rows; ++row) {
      const auto i = static_cast<size_t>(row);
      const Operand one({1, weights.columns},
                        std::vector<float>(x.begin() + static_cast<ptrdiff_t>(i * k),
                                           x.begin() + static_cast<ptrdiff_t>((i + 1) * k)));
      const auto begin = together.begin() + row * weights.rows;
      EXPECT_TRUE(same_bits(run(*cpu.backend, node, {&one}, {&packed}, {1, weights.rows}),
                            std::vector<float>(begin, begin + weights.rows)))
          << cpu.name << " row " << row;
    }
  }
}

TEST_P(Linear, EmbeddingEqualsReference) {
  const WeightRows weights = random_rows(type(), 37, columns(288), random_);
  const std::unique_ptr<Backend> reference = make_reference_backend();
  const Weight plain(*reference, weights);
  const Operand tokens({2, 4}, std::vector<int64_t>{0, 36, 15, 16, 17, 1, 36, 31});
  for (float scale : {1.0f, 25.25f}) {
    Node node;
    node.op = Op::kEmbedding;
    node.attributes.scale = scale;
    const std::vector<int64_t> shape = {2, 4, weights.columns};
    const std::vector<float> expected = run(*reference, node, {&tokens}, {&plain}, shape);
    for (const NamedBackend& cpu : cpu_backends(2)) {
      const Weight packed(*cpu.backend, weights);
      EXPECT_TRUE(same_bits(run(*cpu.backend, node, {&tokens}, {&packed}, shape), expected))
          << cpu.name;
    }
  }
}

class FloatLinear : public Linear {};

TEST_P(FloatLinear, ColumnsNeedNotFillVectors) {
  for (int64_t columns : {1, 3, 20, 37}) {
    const WeightRows weights = random_rows(type(), 67, columns, random_);
    for (int64_t rows : {1, 9})
      compare(weights, random_floats(static_cast<size_t>(rows * columns), random_), rows, 1);
  }
}

class QuantizedLinear : public Linear {};

TEST_P(QuantizedLinear, LargestCodesAndActivations) {
  const int last = (1 << traits(type()).element_bits) - 1;
  for (int code : {0, last}) {
    WeightRows weights = random_rows(type(), 16, columns(256), random_);
    std::fill(weights.codes.begin(), weights.codes.end(), static_cast<uint8_t>(code));
    const std::vector<float> x(static_cast<size_t>(weights.columns), -3.0f);
    compare(weights, x, 1, 1);
  }
}

std::string type_name(const testing::TestParamInfo<int>& param) {
  return std::string(traits(static_cast<WeightType>(param.param)).name);
}
constexpr int kFloatTypes = 3;  // they come first
INSTANTIATE_TEST_SUITE_P(Types, Linear, testing::Range(0, kWeightTypeCount), type_name);
INSTANTIATE_TEST_SUITE_P(Types, FloatLinear, testing::Range(0, kFloatTypes), type_name);
INSTANTIATE_TEST_SUITE_P(Types, QuantizedLinear, testing::Range(kFloatTypes, kWeightTypeCount),
                         type_name);

TEST(Embedding, TokensThatDoNotExistGiveNaN) {
  std::mt19937 random{20240603};
  const WeightRows weights = random_rows(WeightType::kQ8_0, 20, 32, random);
  const Operand tokens({1, 3}, std::vector<int64_t>{-1, 20, std::numeric_limits<int64_t>::max()});
  Node node;
  node.op = Op::kEmbedding;
  for (const NamedBackend& cpu : cpu_backends(1)) {
    const Weight packed(*cpu.backend, weights);
    for (float x : run(*cpu.backend, node, {&tokens}, {&packed}, {1, 3, 32}))
      EXPECT_TRUE(std::isnan(x)) << cpu.name;
  }
}

}  // namespace
}  // namespace gumbel::cpu
