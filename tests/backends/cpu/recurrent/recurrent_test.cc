// The ops with a recurrent state: the reference against plain loops in double precision, the CPU
// backend against the reference, in chunks of any length.

#include <algorithm>
#include <cmath>

#include "backends/cpu/op_harness.h"
#include "base/softplus.h"

namespace gumbel::cpu {
namespace {

// Positions of a batch whose rows continue from `first`.
Operand positions_from(const std::vector<int64_t>& first, int64_t time) {
  std::vector<int64_t> positions;
  for (const int64_t start : first)
    for (int64_t t = 0; t < time; ++t) positions.push_back(start + t);
  return Operand({static_cast<int64_t>(first.size()), time}, positions);
}

// Elements [begin, begin + count) of the second dimension of x [batch, time, width].
std::vector<float> part(const std::vector<float>& x, int64_t batch, int64_t time, int64_t begin,
                        int64_t count) {
  const auto width = static_cast<int64_t>(x.size()) / (batch * time);
  std::vector<float> out;
  for (int64_t b = 0; b < batch; ++b)
    out.insert(out.end(), x.begin() + (b * time + begin) * width,
               x.begin() + (b * time + begin + count) * width);
  return out;
}

struct Conv {
  int64_t batch, time, channels, width;
  std::vector<float> x, taps;

  Conv(int64_t b, int64_t t, int64_t c, int64_t w, std::mt19937& random)
      : batch(b),
        time(t),
        channels(c),
        width(w),
        x(random_floats(static_cast<size_t>(b * t * c), random)),
        taps(random_floats(static_cast<size_t>(w * c), random)) {}

  // In chunks of at most `chunk` positions; row after row of the batch.
  std::vector<float> run(Backend& backend, int64_t chunk) const {
    Node node;
    node.op = Op::kCausalConv;
    Recurrent state(batch, (width - 1) * channels);
    const Weight weight(taps);
    std::vector<float> all(x.size());
    for (int64_t begin = 0; begin < time; begin += chunk) {
      const int64_t count = std::min(chunk, time - begin);
      const Operand input({batch, count, channels}, part(x, batch, time, begin, count));
      const Operand positions =
          positions_from(std::vector<int64_t>(static_cast<size_t>(batch), begin), count);
      const Operand out(DataType::kF32, {batch, count, channels});
      execute(backend, node, {&input, &positions}, {&weight}, {&out}, nullptr, &state);
      const std::vector<float> values = out.floats();
      for (int64_t b = 0; b < batch; ++b)
        std::copy(values.begin() + b * count * channels,
                  values.begin() + (b + 1) * count * channels,
                  all.begin() + (b * time + begin) * channels);
    }
    return all;
  }
};

TEST(CausalConv, IsAConvolutionOverThePast) {
  std::mt19937 random{1};
  const Conv conv(2, 11, 5, 4, random);
  const std::vector<float> out = conv.run(*make_reference_backend(), 11);
  for (int64_t b = 0; b < 2; ++b)
    for (int64_t t = 0; t < 11; ++t)
      for (int64_t c = 0; c < 5; ++c) {
        double sum = 0;
        for (int64_t w = 0; w < 4; ++w)
          if (t - 3 + w >= 0)
            sum += static_cast<double>(conv.taps[static_cast<size_t>(w * 5 + c)]) *
                   static_cast<double>(conv.x[static_cast<size_t>((b * 11 + t - 3 + w) * 5 + c)]);
        EXPECT_NEAR(out[static_cast<size_t>((b * 11 + t) * 5 + c)], sum / (1 + std::exp(-sum)),
                    1e-5);
      }
}

TEST(CausalConv, EqualsTheReferenceInChunksOfAnyLength) {
  std::mt19937 random{2};
  for (const auto& [channels, width] :
       {std::pair<int64_t, int64_t>{1, 2}, {15, 4}, {64, 3}, {100, 7}, {3000, 4}}) {
    const Conv conv(2, 20, channels, width, random);
    const std::vector<float> expected = conv.run(*make_reference_backend(), 20);
    for (int64_t chunk : {1, 2, 3, 7})
      EXPECT_TRUE(same_bits(conv.run(*make_reference_backend(), chunk), expected));
    for (int threads : {1, 3})
      for (const NamedBackend& cpu : cpu_backends(threads))
        for (int64_t chunk : {1, 2, 7, 20})
          EXPECT_TRUE(same_bits(conv.run(*cpu.backend, chunk), expected))
              << cpu.name << ", channels " << channels << ", chunk " << chunk;
  }
}

struct Delta {
  int64_t batch, time, key_heads, heads, key_dim, value_dim;
  std::vector<float> q, k, v, decay, strength, rate, bias;
  HeadOrder order = HeadOrder::kGrouped;

  Delta(int64_t b, int64_t t, int64_t hk, int64_t hv, int64_t dk, int64_t dv, std::mt19937& random)
      : batch(b), time(t), key_heads(hk), heads(hv), key_dim(dk), value_dim(dv) {
    const auto floats = [&](int64_t count, float spread) {
      return random_floats(static_cast<size_t>(count), random, spread);
    };
    const float unit = 1.0f / std::sqrt(static_cast<float>(dk));  // keys of length 1 or so
    q = floats(b * t * hk * dk, unit);
    k = floats(b * t * hk * dk, unit);
    v = floats(b * t * hv * dv, 1.0f);
    decay = floats(b * t * hv, 2.0f);
    strength = floats(b * t * hv, 2.0f);
    bias = floats(hv, 1.0f);
    rate = floats(hv, 1.0f);
    for (float& r : rate) r = -std::abs(r);
  }

  struct Result {
    std::vector<float> out, state;
  };

  Result run(Backend& backend, int64_t chunk) const {
    Node node;
    node.op = Op::kGatedDeltaRule;
    node.attributes.head_order = order;
    Recurrent state(batch, heads * key_dim * value_dim);
    const Weight rates(rate), biases(bias);
    std::vector<float> all(v.size());
    for (int64_t begin = 0; begin < time; begin += chunk) {
      const int64_t n = std::min(chunk, time - begin);
      const auto operand = [&](const std::vector<float>& x, std::vector<int64_t> dims) {
        dims.insert(dims.begin(), {batch, n});
        return Operand(dims, part(x, batch, time, begin, n));
      };
      const Operand qs = operand(q, {key_heads, key_dim}), ks = operand(k, {key_heads, key_dim});
      const Operand vs = operand(v, {heads, value_dim});
      const Operand decays = operand(decay, {heads}), strengths = operand(strength, {heads});
      const Operand positions =
          positions_from(std::vector<int64_t>(static_cast<size_t>(batch), begin), n);
      const Operand out(DataType::kF32, {batch, n, heads, value_dim});
      execute(backend, node, {&qs, &ks, &vs, &decays, &strengths, &positions}, {&rates, &biases},
              {&out}, nullptr, &state);
      const std::vector<float> values = out.floats();
      const int64_t width = heads * value_dim;
      for (int64_t b = 0; b < batch; ++b)
        std::copy(values.begin() + b * n * width, values.begin() + (b + 1) * n * width,
                  all.begin() + (b * time + begin) * width);
    }
    return {all, state.floats()};
  }
};

// The recurrence of the paper, S = S (alpha (I - beta k k^T)) + beta v k^T, with S [Dv, Dk].
void expect_recurrence(const Delta& d, const std::vector<int64_t>& key_heads) {
  const std::vector<float> out = d.run(*make_reference_backend(), 9).out;
  for (int64_t b = 0; b < d.batch; ++b)
    for (int64_t head = 0; head < d.heads; ++head) {
      std::vector<double> s(static_cast<size_t>(d.value_dim * d.key_dim));
      for (int64_t t = 0; t < d.time; ++t) {
        const int64_t at = b * d.time + t;
        const float* k =
            d.k.data() + (at * d.key_heads + key_heads[static_cast<size_t>(head)]) * d.key_dim;
        const float* q =
            d.q.data() + (at * d.key_heads + key_heads[static_cast<size_t>(head)]) * d.key_dim;
        const float* v = d.v.data() + (at * d.heads + head) * d.value_dim;
        const auto gate = static_cast<size_t>(at * d.heads + head);
        const double time_step =
            std::log1p(std::exp(static_cast<double>(d.decay[gate]) +
                                static_cast<double>(d.bias[static_cast<size_t>(head)])));
        const double alpha =
            std::exp(static_cast<double>(d.rate[static_cast<size_t>(head)]) * time_step);
        const double beta = 1 / (1 + std::exp(-static_cast<double>(d.strength[gate])));
        std::vector<double> next(s.size());
        for (int64_t r = 0; r < d.value_dim; ++r)
          for (int64_t c = 0; c < d.key_dim; ++c) {
            double carried = 0;
            for (int64_t i = 0; i < d.key_dim; ++i)
              carried += s[static_cast<size_t>(r * d.key_dim + i)] *
                         ((i == c ? 1.0 : 0.0) -
                          beta * static_cast<double>(k[i]) * static_cast<double>(k[c]));
            next[static_cast<size_t>(r * d.key_dim + c)] =
                alpha * carried + beta * static_cast<double>(v[r]) * static_cast<double>(k[c]);
          }
        s = next;
        for (int64_t r = 0; r < d.value_dim; ++r) {
          double expected = 0;
          for (int64_t c = 0; c < d.key_dim; ++c)
            expected += s[static_cast<size_t>(r * d.key_dim + c)] * static_cast<double>(q[c]);
          EXPECT_NEAR(out[static_cast<size_t>((at * d.heads + head) * d.value_dim + r)], expected,
                      1e-5);
        }
      }
    }
}

TEST(GatedDeltaRule, IsTheRecurrenceOfItsPaper) {
  std::mt19937 random{3};
  Delta d(2, 9, 2, 6, 8, 5, random);
  expect_recurrence(d, {0, 0, 0, 1, 1, 1});
  d.order = HeadOrder::kTiled;
  expect_recurrence(d, {0, 1, 0, 1, 0, 1});
}

TEST(GatedDeltaRule, EqualsTheReferenceInChunksOfAnyLength) {
  std::mt19937 random{4};
  const struct {
    int64_t key_heads, heads, key_dim, value_dim;
    HeadOrder order = HeadOrder::kGrouped;
  } kShapes[] = {{1, 1, 1, 1},
                 {2, 4, 16, 16},
                 {2, 6, 16, 16, HeadOrder::kTiled},
                 {1, 3, 7, 67},
                 {2, 2, 128, 128}};
  for (const auto& s : kShapes) {
    Delta d(2, 13, s.key_heads, s.heads, s.key_dim, s.value_dim, random);
    d.order = s.order;
    const Delta::Result expected = d.run(*make_reference_backend(), 13);
    for (int threads : {1, 3})
      for (const NamedBackend& cpu : cpu_backends(threads))
        for (int64_t chunk : {1, 5, 13}) {
          const Delta::Result result = d.run(*cpu.backend, chunk);
          EXPECT_TRUE(same_bits(result.out, expected.out)) << cpu.name << ", chunk " << chunk;
          EXPECT_TRUE(same_bits(result.state, expected.state)) << cpu.name << ", chunk " << chunk;
        }
  }
}

// A row of a batch that begins anew does not see what it was before, and others go on.
TEST(RecurrentOps, ARowThatBeginsAtZeroStartsFromZeros) {
  std::mt19937 random{5};
  const int64_t kChannels = 20;
  const std::vector<float> x = random_floats(2 * 3 * kChannels, random);
  const Weight taps(random_floats(4 * kChannels, random));
  Node node;
  node.op = Op::kCausalConv;
  const auto run_from = [&](Backend& backend, const std::vector<std::vector<int64_t>>& firsts) {
    Recurrent state(2, 3 * kChannels);
    const Operand input({2, 3, kChannels}, x);
    const Operand out(DataType::kF32, {2, 3, kChannels});
    for (const auto& first : firsts) {
      const Operand positions = positions_from(first, 3);
      execute(backend, node, {&input, &positions}, {&taps}, {&out}, nullptr, &state);
    }
    return out.floats();
  };
  const auto reference = make_reference_backend();
  const std::vector<float> fresh = run_from(*reference, {{0, 0}});
  const std::vector<float> mixed = run_from(*reference, {{0, 0}, {0, 3}});
  const auto middle = static_cast<ptrdiff_t>(fresh.size() / 2);
  EXPECT_TRUE(std::equal(fresh.begin(), fresh.begin() + middle, mixed.begin()));
  EXPECT_FALSE(std::equal(fresh.begin() + middle, fresh.end(), mixed.begin() + middle));
  for (const NamedBackend& cpu : cpu_backends(1))
    EXPECT_TRUE(same_bits(run_from(*cpu.backend, {{0, 0}, {0, 3}}), mixed)) << cpu.name;
}

}  // namespace
}  // namespace gumbel::cpu
