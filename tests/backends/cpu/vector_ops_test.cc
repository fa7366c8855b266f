// Ops of single elements and rows equal the reference backend's, bit for bit, on every instruction
// set, at every length.

#include <limits>

#include "backends/cpu/op_harness.h"
#include "base/exp.h"

namespace gumbel::cpu {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

void compare(const Node& node, std::vector<const Operand*> inputs,
             std::vector<const Weight*> weights, const std::vector<int64_t>& shape) {
  const std::unique_ptr<Backend> reference = make_reference_backend();
  const std::vector<float> expected = run(*reference, node, inputs, weights, shape);
  for (int threads : {1, 3})
    for (const NamedBackend& cpu : cpu_backends(threads))
      EXPECT_TRUE(same_bits(run(*cpu.backend, node, inputs, weights, shape), expected))
          << cpu.name << ", threads " << threads;
}

const int64_t kLengths[] = {1, 7, 8, 15, 16, 17, 24, 33, 48, 100, 576};

TEST(VectorOps, Add) {
  std::mt19937 random{1};
  Node node;
  node.op = Op::kAdd;
  for (int64_t n : kLengths) {
    const Operand a({2, n}, random_floats(static_cast<size_t>(2 * n), random));
    const Operand b({2, n}, random_floats(static_cast<size_t>(2 * n), random));
    compare(node, {&a, &b}, {}, {2, n});
  }
  const Operand large({200, 577}, random_floats(200 * 577, random));
  compare(node, {&large, &large}, {}, {200, 577});
}

// Every exponent, either sign, and what is beyond the range of exp.
std::vector<float> all_magnitudes() {
  std::vector<float> values = {0.0f,   -0.0f,  kInfinity, -kInfinity, kNaN,
                               88.7f,  89.0f,  103.9f,    104.0f,     150.0f,
                               -88.7f, -89.0f, -103.9f,   -104.0f,    -150.0f};
  for (int exponent = -149; exponent < 128; ++exponent)
    for (float significand : {1.0f, 1.2345f, -1.0f, -1.5f})
      values.push_back(std::ldexp(significand, exponent));
  for (int i = -3000; i < 3000; ++i) values.push_back(static_cast<float>(i) * 0.0371f);
  return values;
}

TEST(VectorOps, GatedActivation) {
  std::mt19937 random{2};
  Node node;
  node.op = Op::kGatedActivation;
  for (Activation activation : {Activation::kSilu, Activation::kGeluTanh, Activation::kSigmoid}) {
    node.attributes.activation = activation;
    for (int64_t n : kLengths) {
      const Operand gate({n}, random_floats(static_cast<size_t>(n), random, 4.0f));
      const Operand up({n}, random_floats(static_cast<size_t>(n), random));
      compare(node, {&gate, &up}, {}, {n});
    }
    const std::vector<float> values = all_magnitudes();
    const auto n = static_cast<int64_t>(values.size());
    const Operand gate({n}, values);
    const Operand ones({n}, std::vector<float>(values.size(), 1.0f));
    compare(node, {&gate, &ones}, {}, {n});
  }
}

TEST(VectorOps, OneGateForARow) {
  std::mt19937 random{7};
  Node node;
  node.op = Op::kGatedActivation;
  node.attributes.activation = Activation::kSigmoid;
  for (int64_t n : kLengths) {
    const Operand gate({3, 5, 1}, random_floats(15, random, 4.0f));
    const Operand up({3, 5, n}, random_floats(static_cast<size_t>(15 * n), random));
    compare(node, {&gate, &up}, {}, {3, 5, n});
  }
}

TEST(VectorOps, ScaleAndSoftCap) {
  std::mt19937 random{8};
  for (Op op : {Op::kScale, Op::kSoftCap}) {
    Node node;
    node.op = op;
    node.attributes.scale = 30.0f;
    for (int64_t n : kLengths) {
      const Operand x({2, n}, random_floats(static_cast<size_t>(2 * n), random, 20.0f));
      compare(node, {&x}, {}, {2, n});
    }
    const std::vector<float> values = all_magnitudes();
    const auto n = static_cast<int64_t>(values.size());
    const Operand x({n}, values);
    compare(node, {&x}, {}, {n});
  }
}

TEST(VectorOps, Slice) {
  std::mt19937 random{9};
  Node node;
  node.op = Op::kSlice;
  const Operand x({2, 70, 300}, random_floats(2 * 70 * 300, random));
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, 300}, {0, 1}, {17, 290}}) {
    node.attributes.begin = begin;
    node.attributes.end = end;
    compare(node, {&x}, {}, {2, 70, end - begin});
  }
}

TEST(VectorOps, RmsNorm) {
  std::mt19937 random{3};
  Node node;
  node.op = Op::kRmsNorm;
  node.attributes.epsilon = 1e-6f;
  for (int64_t n : kLengths) {
    std::vector<float> values = random_floats(static_cast<size_t>(5 * n), random);
    values[0] = kNaN;
    values[static_cast<size_t>(n)] = kInfinity;
    std::fill_n(values.begin() + 2 * n, n, 0.0f);
    const Operand x({5, n}, values);
    const Weight weight(random_floats(static_cast<size_t>(n), random));
    compare(node, {&x}, {&weight}, {5, n});
  }
  const Operand x({2, 100, 640}, random_floats(2 * 100 * 640, random));
  const Weight weight(random_floats(640, random));
  compare(node, {&x}, {&weight}, {2, 100, 640});
}

TEST(VectorOps, RotaryTable) {
  std::mt19937 random{4};
  Node node;
  node.op = Op::kRotaryTable;
  for (int64_t half : {1, 10, 32, 128}) {
    std::vector<float> frequencies;
    for (int64_t i = 0; i < half; ++i)
      frequencies.push_back(std::pow(10000.0f, -static_cast<float>(i) / static_cast<float>(half)));
    const Weight weight(frequencies);
    const Operand positions({2, 5},
                            std::vector<int64_t>{0, 1, 2, 3, 4, 100, 8191, 131071, 1 << 20, 7});
    compare(node, {&positions}, {&weight}, {2, 5, 2 * half});
  }
}

TEST(VectorOps, Rotary) {
  std::mt19937 random{5};
  Node node;
  node.op = Op::kRotary;
  const struct {
    int64_t dim, half;
  } kShapes[] = {{2, 1}, {20, 10}, {24, 8}, {64, 32}, {80, 20}, {256, 128}};
  for (const auto& shape : kShapes) {
    const Operand x({2, 3, 5, shape.dim},
                    random_floats(static_cast<size_t>(30 * shape.dim), random));
    const Operand table({2, 3, 2 * shape.half},
                        random_floats(static_cast<size_t>(12 * shape.half), random));
    compare(node, {&x, &table}, {}, {2, 3, 5, shape.dim});
  }
}

TEST(VectorOps, SelectLast) {
  std::mt19937 random{6};
  Node node;
  node.op = Op::kSelectLast;
  const Operand x({3, 4, 37}, random_floats(3 * 4 * 37, random));
  compare(node, {&x}, {}, {3, 37});
}

}  // namespace
}  // namespace gumbel::cpu
