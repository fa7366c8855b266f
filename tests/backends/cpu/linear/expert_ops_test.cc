// The ops of mixtures of experts: the reference against plain loops in double precision, the CPU
// backend against the reference, and that experts which nobody chose are not read.

#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "backends/cpu/linear/packing.h"
#include "backends/cpu/op_harness.h"

namespace gumbel::cpu {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

struct Routing {
  std::vector<int64_t> experts;
  std::vector<float> weights;
};

Routing route(Backend& backend, const Operand& scores, int64_t top_k, const Weight* factors) {
  Node node;
  node.op = Op::kRouter;
  node.attributes.top_k = top_k;
  const Tensor& s = scores.tensor();
  const Operand experts(DataType::kI64, {s.dims[0], s.dims[1], top_k});
  const Operand weights(DataType::kF32, {s.dims[0], s.dims[1], top_k});
  execute(backend, node, {&scores},
          factors != nullptr ? std::vector{factors} : std::vector<const Weight*>{},
          {&experts, &weights});
  return {experts.integers(), weights.floats()};
}

TEST(Router, ChoosesTheLargestScoresAndWeighsThemBySoftmax) {
  std::mt19937 random{1};
  const auto reference = make_reference_backend();
  const int64_t kExperts = 37, kTopK = 5;
  std::vector<float> values = random_floats(12 * kExperts, random, 2.0f);
  const std::vector<float> factors = random_floats(kExperts, random);
  const Weight weight(factors);
  const Operand scores({3, 4, kExperts}, values);
  const Routing routing = route(*reference, scores, kTopK, &weight);
  for (size_t row = 0; row < 12; ++row) {
    const float* s = values.data() + row * kExperts;
    std::vector<int64_t> order(kExperts);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return s[a] > s[b]; });
    double sum = 0;
    for (int64_t k = 0; k < kTopK; ++k) sum += std::exp(static_cast<double>(s[order[k]]));
    for (size_t k = 0; k < kTopK; ++k) {
      EXPECT_EQ(routing.experts[row * kTopK + k], order[k]);
      const double expected = std::exp(static_cast<double>(s[order[k]])) / sum *
                              static_cast<double>(factors[static_cast<size_t>(order[k])]);
      EXPECT_NEAR(routing.weights[row * kTopK + k], expected, 2e-6 * std::abs(expected));
    }
  }
}

TEST(Router, EqualScoresGiveTheLowerExpertsAndNothingMakesAnIdOutOfRange) {
  const float kInf = std::numeric_limits<float>::infinity();
  const auto check = [&](Backend& backend, std::string_view name) {
    const Operand equal({1, 1, 6}, std::vector<float>{1, 3, 3, 1, 3, 1});
    EXPECT_EQ(route(backend, equal, 4, nullptr).experts, (std::vector<int64_t>{1, 2, 4, 0}))
        << name;
    for (const std::vector<float>& row : {std::vector<float>{kNaN, kNaN, kNaN, kNaN},
                                          {1, kNaN, 2, kNaN},
                                          {-kInf, -kInf, -kInf, -kInf},
                                          {kNaN, 1, 2, 3},
                                          {kInf, kInf, 0, 1}}) {
      const Operand scores({1, 1, 4}, row);
      std::vector<int64_t> ids = route(backend, scores, 3, nullptr).experts;
      std::sort(ids.begin(), ids.end());
      EXPECT_TRUE(std::adjacent_find(ids.begin(), ids.end()) == ids.end()) << name;
      EXPECT_GE(ids.front(), 0) << name;
      EXPECT_LT(ids.back(), 4) << name;
    }
  };
  check(*make_reference_backend(), "reference");
  for (const NamedBackend& cpu : cpu_backends(1)) check(*cpu.backend, cpu.name);
}

TEST(Router, EqualsTheReference) {
  std::mt19937 random{2};
  const auto reference = make_reference_backend();
  for (const auto& [experts, top_k] :
       {std::pair<int64_t, int64_t>{1, 1}, {8, 3}, {8, 8}, {256, 8}}) {
    std::vector<float> values = random_floats(static_cast<size_t>(100 * experts), random);
    for (size_t i = 0; i < values.size(); i += 3) values[i] = std::round(values[i]);  // ties
    const Operand scores({2, 50, experts}, values);
    const Weight factors(random_floats(static_cast<size_t>(experts), random));
    for (const Weight* weight : {static_cast<const Weight*>(nullptr), &factors}) {
      const Routing expected = route(*reference, scores, top_k, weight);
      for (int threads : {1, 3})
        for (const NamedBackend& cpu : cpu_backends(threads)) {
          const Routing routing = route(*cpu.backend, scores, top_k, weight);
          EXPECT_EQ(routing.experts, expected.experts) << cpu.name;
          EXPECT_TRUE(same_bits(routing.weights, expected.weights)) << cpu.name;
        }
    }
  }
}

std::vector<WeightRows> random_experts(WeightType type, int64_t experts, int64_t rows,
                                       int64_t columns, std::mt19937& random) {
  std::vector<WeightRows> matrices;
  for (int64_t e = 0; e < experts; ++e)
    matrices.push_back(random_rows(type, rows, columns, random));
  return matrices;
}

// Choices of `top_k` different experts for each position, some experts far oftener than others.
std::vector<int64_t> random_choices(int64_t positions, int64_t experts, int64_t top_k,
                                    std::mt19937& random) {
  std::vector<int64_t> choices;
  for (int64_t i = 0; i < positions; ++i) {
    std::vector<int64_t> ids(static_cast<size_t>(experts));
    std::iota(ids.begin(), ids.end(), 0);
    std::shuffle(ids.begin() + (i % 3 == 0 ? 0 : experts / 2), ids.end(), random);
    std::rotate(ids.begin(), ids.begin() + (i % 2) * (experts / 3), ids.end());
    choices.insert(choices.end(), ids.begin(), ids.begin() + top_k);
  }
  return choices;
}

TEST(ExpertLinear, IsTheLinearOpOfTheChosenMatrix) {
  std::mt19937 random{3};
  const auto reference = make_reference_backend();
  const std::vector<WeightRows> matrices = random_experts(WeightType::kQ4_K, 5, 24, 256, random);
  const std::vector<int64_t> choices = random_choices(7, 5, 2, random);
  const Operand experts({1, 7, 2}, choices);
  const std::vector<float> x = random_floats(7 * 256, random);
  const Operand shared({1, 7, 256}, x);
  const Weight weight(*reference, matrices);
  Node node;
  node.op = Op::kExpertLinear;
  const std::vector<float> products =
      run(*reference, node, {&shared, &experts}, {&weight}, {1, 7, 2, 24});
  Node linear;
  linear.op = Op::kLinear;
  for (size_t i = 0; i < choices.size(); ++i) {
    const auto row = x.begin() + static_cast<ptrdiff_t>(i / 2 * 256);
    const Operand one({1, 256}, std::vector<float>(row, row + 256));
    const Weight matrix(*reference, matrices[static_cast<size_t>(choices[i])]);
    const std::vector<float> expected = run(*reference, linear, {&one}, {&matrix}, {1, 24});
    EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                           products.begin() + static_cast<ptrdiff_t>(i * 24)));
  }
}

TEST(ExpertLinear, EqualsTheReference) {
  std::mt19937 random{4};
  const auto reference = make_reference_backend();
  Node node;
  node.op = Op::kExpertLinear;
  const struct {
    int64_t batch, time, experts, top_k, rows, columns;
  } kShapes[] = {{1, 1, 8, 3, 40, 256},  // decode; rows that do not fill a tile
                 {2, 3, 4, 4, 16, 512},
                 {1, 37, 8, 3, 56, 256},    // every size of block
                 {1, 130, 3, 2, 64, 256}};  // more than 128 rows of one expert
  for (int t = 0; t < kWeightTypeCount; ++t) {
    const auto type = static_cast<WeightType>(t);
    for (const auto& s : kShapes) {
      const std::vector<WeightRows> matrices =
          random_experts(type, s.experts, s.rows, s.columns, random);
      const Operand experts({s.batch, s.time, s.top_k},
                            random_choices(s.batch * s.time, s.experts, s.top_k, random));
      const auto count = static_cast<size_t>(s.batch * s.time * s.columns);
      const Operand shared({s.batch, s.time, s.columns}, random_floats(count, random));
      const Operand own({s.batch, s.time, s.top_k, s.columns},
                        random_floats(count * static_cast<size_t>(s.top_k), random));
      const Weight plain(*reference, matrices);
      const std::vector<int64_t> shape = {s.batch, s.time, s.top_k, s.rows};
      for (const Operand* x : {&shared, &own}) {
        const std::vector<float> expected = run(*reference, node, {x, &experts}, {&plain}, shape);
        for (int threads : {1, 3})
          for (const NamedBackend& cpu : cpu_backends(threads)) {
            const Weight packed(*cpu.backend, matrices);
            EXPECT_TRUE(
                same_bits(run(*cpu.backend, node, {x, &experts}, {&packed}, shape), expected))
                << traits(type).name << ", " << cpu.name << ", T " << s.time << ", threads "
                << threads;
          }
      }
    }
  }
}

// Experts that nobody chose lie on pages that cannot be read.
TEST(ExpertLinear, ReadsTheChosenExpertsAlone) {
  std::mt19937 random{5};
  Node node;
  node.op = Op::kExpertLinear;
  const int64_t kExperts = 6, kRows = 64, kColumns = 512;
  const auto bytes = static_cast<size_t>(packed_bytes(WeightType::kF16, kRows, kColumns));
  ASSERT_EQ(bytes % 4096, 0u);
  auto* memory = static_cast<std::byte*>(::mmap(nullptr, kExperts * bytes, PROT_READ | PROT_WRITE,
                                                MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  const NamedBackend& cpu = cpu_backends(3).back();
  const std::vector<WeightRows> matrices =
      random_experts(WeightType::kF16, kExperts, kRows, kColumns, random);
  for (size_t e = 0; e < kExperts; ++e) cpu.backend->pack(matrices[e], {memory + e * bytes, bytes});
  for (size_t e : {0, 2, 3, 5}) ASSERT_EQ(::mprotect(memory + e * bytes, bytes, PROT_NONE), 0);

  const PackedWeight weight = {WeightType::kF16, kExperts, kRows, kColumns, false, memory};
  const Operand x({1, 3, kColumns}, random_floats(3 * kColumns, random));
  const Operand experts({1, 3, 2}, std::vector<int64_t>{4, 1, 1, 4, 4, 1});
  const Operand out(DataType::kF32, {1, 3, 2, kRows});
  const Tensor inputs[] = {x.tensor(), experts.tensor()};
  const Tensor outputs[] = {out.tensor()};
  OpCall call;
  call.node = &node;
  call.inputs = inputs;
  call.weights = {&weight, 1};
  call.outputs = outputs;
  const Buffer scratch(cpu.backend->scratch_bytes(call));
  call.scratch = {scratch.data(), scratch.size()};
  cpu.backend->execute(call);
  for (const float y : out.floats()) EXPECT_TRUE(std::isfinite(y));
  ::munmap(memory, kExperts * bytes);
}

TEST(ExpertSum, EqualsTheReferenceWhichIsAWeightedSum) {
  std::mt19937 random{6};
  const auto reference = make_reference_backend();
  Node node;
  node.op = Op::kExpertSum;
  for (int64_t width : {1, 15, 16, 33, 1000}) {
    const std::vector<float> x = random_floats(static_cast<size_t>(20 * 3 * width), random);
    const std::vector<float> weights = random_floats(60, random);
    const Operand rows({2, 10, 3, width}, x);
    const Operand factors({2, 10, 3}, weights);
    const std::vector<int64_t> shape = {2, 10, width};
    const std::vector<float> expected = run(*reference, node, {&rows, &factors}, {}, shape);
    for (size_t i = 0; i < expected.size(); ++i) {
      const size_t position = i / static_cast<size_t>(width), d = i % static_cast<size_t>(width);
      double sum = 0, magnitude = 0;
      for (size_t k = 0; k < 3; ++k) {
        const double term =
            static_cast<double>(weights[position * 3 + k]) *
            static_cast<double>(x[(position * 3 + k) * static_cast<size_t>(width) + d]);
        sum += term;
        magnitude += std::abs(term);
      }
      // Three roundings of at most half a unit each.
      EXPECT_NEAR(expected[i], sum, 3 * 0x1p-24 * magnitude);
    }
    for (int threads : {1, 3})
      for (const NamedBackend& cpu : cpu_backends(threads))
        EXPECT_TRUE(same_bits(run(*cpu.backend, node, {&rows, &factors}, {}, shape), expected))
            << cpu.name << ", width " << width;
  }
}

}  // namespace
}  // namespace gumbel::cpu
