// Attention and the key-value cache equal the reference backend's, bit for bit: on every
// instruction set, with rings, windows, chunks of a prompt, batches, and heads that share keys.

#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/op_harness.h"
#include "base/float16.h"

namespace gumbel::cpu {
namespace {

struct Shape {
  int64_t batch, heads, kv_heads, key_dim, value_dim, window, capacity;
  DataType type;
};

/// The inputs of one layer over `positions` positions of a sequence, for each row of the batch.
struct Sequence {
  Shape shape;
  int64_t start;  ///< the first position
  int64_t length;
  std::vector<float> q, k, v;  ///< [B, length, heads, dim]

  Sequence(const Shape& s, int64_t first, int64_t count, uint32_t seed)
      : shape(s), start(first), length(count) {
    std::mt19937 random{seed};
    const auto rows = static_cast<size_t>(s.batch * count);
    q = random_floats(rows * static_cast<size_t>(s.heads * s.key_dim), random);
    k = random_floats(rows * static_cast<size_t>(s.kv_heads * s.key_dim), random);
    v = random_floats(rows * static_cast<size_t>(s.kv_heads * s.value_dim), random);
  }
};

/// Rows [first, first + count) of every batch row of data [B, length, width].
std::vector<float> slice(const std::vector<float>& data, const Sequence& s, int64_t first,
                         int64_t count, int64_t width) {
  std::vector<float> out;
  for (int64_t b = 0; b < s.shape.batch; ++b) {
    const auto begin = data.begin() + (b * s.length + first) * width;
    out.insert(out.end(), begin, begin + count * width);
  }
  return out;
}

/// Runs the sequence in chunks and returns the outputs as [B, length, heads, value_dim]. Rows of
/// the batch are `apart` positions from each other.
std::vector<float> attend(Backend& backend, const Sequence& s, const std::vector<int64_t>& chunks,
                          int64_t apart = 0) {
  const Shape& shape = s.shape;
  Cache cache(shape.type, shape.batch, shape.kv_heads, shape.key_dim, shape.value_dim,
              shape.capacity);
  Node update, attention;
  update.op = Op::kCacheUpdate;
  attention.op = Op::kAttention;
  attention.attributes.window = shape.window;
  attention.attributes.scale = 0.31f;
  const int64_t width = shape.heads * shape.value_dim;
  std::vector<float> all(static_cast<size_t>(shape.batch * s.length * width));
  int64_t done = 0;
  for (size_t i = 0; done < s.length; ++i) {
    const int64_t time = std::min(chunks[i % chunks.size()], s.length - done);
    std::vector<int64_t> position_values;
    for (int64_t b = 0; b < shape.batch; ++b)
      for (int64_t t = 0; t < time; ++t) position_values.push_back(s.start + done + t + b * apart);
    const Operand positions({shape.batch, time}, position_values);
    const Operand k({shape.batch, time, shape.kv_heads, shape.key_dim},
                    slice(s.k, s, done, time, shape.kv_heads * shape.key_dim));
    const Operand v({shape.batch, time, shape.kv_heads, shape.value_dim},
                    slice(s.v, s, done, time, shape.kv_heads * shape.value_dim));
    const Operand q({shape.batch, time, shape.heads, shape.key_dim},
                    slice(s.q, s, done, time, shape.heads * shape.key_dim));
    run(backend, update, {&k, &v, &positions}, {}, {}, &cache);
    const std::vector<float> out = run(backend, attention, {&q, &positions}, {},
                                       {shape.batch, time, shape.heads, shape.value_dim}, &cache);
    for (int64_t b = 0; b < shape.batch; ++b)
      std::copy(out.begin() + b * time * width, out.begin() + (b + 1) * time * width,
                all.begin() + (b * s.length + done) * width);
    done += time;
  }
  return all;
}

void compare(const Sequence& s, const std::vector<std::vector<int64_t>>& chunkings, int threads,
             int64_t apart = 0) {
  const std::unique_ptr<Backend> reference = make_reference_backend();
  const std::vector<float> expected = attend(*reference, s, chunkings[0], apart);
  for (const auto& chunks : chunkings)
    for (const NamedBackend& cpu : cpu_backends(threads))
      EXPECT_TRUE(same_bits(attend(*cpu.backend, s, chunks, apart), expected))
          << cpu.name << ", chunks of " << chunks[0] << ", ...";
}

TEST(Attention, EqualsReferenceInAnyChunks) {
  int threads = 1;
  for (DataType type : {DataType::kF16, DataType::kF32})
    for (const Shape& shape :
         {Shape{1, 1, 1, 16, 16, 0, 64, type}, Shape{1, 9, 3, 64, 64, 0, 64, type},
          Shape{2, 4, 1, 20, 24, 0, 64, type}, Shape{1, 6, 2, 4, 12, 0, 64, type},
          Shape{1, 5, 1, 32, 80, 0, 64, type}, Shape{2, 7, 7, 8, 1, 0, 64, type},
          Shape{1, 11, 1, 12, 36, 0, 64, type}}) {
      SCOPED_TRACE(testing::Message() << shape.heads << "/" << shape.kv_heads << " heads of "
                                      << shape.key_dim << " and " << shape.value_dim);
      compare(Sequence(shape, 0, 53, 11), {{53}, {1}, {16}, {7, 3, 20}}, threads);
      threads = threads % 4 + 1;
    }
}

TEST(Attention, WindowsAndRings) {
  // Chunks of at most capacity - window + 1 positions find every key that they see.
  for (DataType type : {DataType::kF16, DataType::kF32})
    for (const Shape& shape :
         {Shape{1, 4, 1, 32, 32, 8, 32, type}, Shape{2, 3, 3, 20, 24, 15, 32, type},
          Shape{1, 2, 1, 16, 16, 17, 48, type}, Shape{1, 2, 2, 16, 20, 1, 16, type},
          Shape{1, 4, 2, 64, 64, 16, 32, type}}) {
      SCOPED_TRACE(testing::Message() << "window " << shape.window << " of " << shape.capacity);
      compare(Sequence(shape, 0, 150, 12), {{16}, {1}, {7, 3, 13}}, 2);
      compare(Sequence(shape, 1000003, 70, 13), {{1}, {5, 11}}, 3);
    }
}

TEST(Attention, BatchRowsAtDifferentPositions) {
  compare(Sequence({3, 4, 2, 32, 32, 0, 96, DataType::kF16}, 0, 30, 14), {{30}, {1}, {8}}, 2, 0);
  // With a window, keys before the first position are never seen only if the window is 1.
  compare(Sequence({3, 4, 2, 32, 32, 1, 32, DataType::kF16}, 0, 30, 15), {{30}, {4}}, 2, 1234);
}

TEST(Attention, PositionsFarApartInOneCall) {
  const Shape shape{1, 2, 1, 16, 16, 1, 32, DataType::kF32};
  const Sequence s(shape, 0, 5, 16);
  const Operand positions({1, 5}, std::vector<int64_t>{3, 100000, 20, 7777, 5});
  const Operand k({1, 5, 1, 16}, s.k), v({1, 5, 1, 16}, s.v), q({1, 5, 2, 16}, s.q);
  Node update, attention;
  update.op = Op::kCacheUpdate;
  attention.op = Op::kAttention;
  attention.attributes.window = 1;
  const auto outputs = [&](Backend& backend) {
    Cache cache(shape.type, 1, 1, 16, 16, 32);
    run(backend, update, {&k, &v, &positions}, {}, {}, &cache);
    return run(backend, attention, {&q, &positions}, {}, {1, 5, 2, 16}, &cache);
  };
  const std::vector<float> expected = outputs(*make_reference_backend());
  for (const NamedBackend& cpu : cpu_backends(2))
    EXPECT_TRUE(same_bits(outputs(*cpu.backend), expected)) << cpu.name;
}

TEST(Attention, BatchRowsEqualSoloRuns) {
  const Shape shape{3, 6, 2, 32, 48, 0, 64, DataType::kF16};
  const Sequence all(shape, 0, 40, 17);
  for (const NamedBackend& cpu : cpu_backends(2)) {
    const std::vector<float> together = attend(*cpu.backend, all, {13});
    for (int64_t b = 0; b < 3; ++b) {
      Shape one = shape;
      one.batch = 1;
      Sequence solo(one, 0, 40, 0);
      const auto take = [&](const std::vector<float>& from, std::vector<float>& to) {
        const auto begin = from.begin() + b * static_cast<int64_t>(to.size());
        to.assign(begin, begin + static_cast<int64_t>(to.size()));
      };
      take(all.q, solo.q);
      take(all.k, solo.k);
      take(all.v, solo.v);
      const std::vector<float> alone = attend(*cpu.backend, solo, {40});
      const auto begin = together.begin() + b * static_cast<int64_t>(alone.size());
      EXPECT_TRUE(
          same_bits(alone, std::vector<float>(begin, begin + static_cast<int64_t>(alone.size()))))
          << cpu.name << " row " << b;
    }
  }
}

TEST(Attention, NaNsAndInfinitiesStayWithTheirQueries) {
  const float inf = std::numeric_limits<float>::infinity();
  const Shape shape{1, 4, 2, 20, 24, 0, 64, DataType::kF32};
  Sequence s(shape, 0, 40, 18);
  s.q[100] = std::nanf("");
  s.q[1000] = inf;
  s.k[1205] = std::nanf("");
  s.k[1405] = -inf;
  s.v[1800] = inf;
  s.v[1859] = std::nanf("");
  compare(s, {{40}, {1}, {9}}, 2);
}

TEST(CacheUpdate, RoundsToNearestEvenHalf) {
  // Every half, the midpoint between it and the next, and the floats on both sides of the midpoint.
  std::vector<float> values;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float half = f16_to_f32(static_cast<uint16_t>(bits));
    values.push_back(half);
    if ((bits & 0x7FFFu) >= 0x7C00u) continue;
    // Half a unit in the last place of the half: exact, since a float has 13 bits more.
    const int exponent = std::max(static_cast<int>(bits >> 10 & 31u), 1);
    const float step = std::ldexp(half < 0 || (bits & 0x8000u) ? -1.0f : 1.0f, exponent - 26);
    const float middle = half + step;
    values.push_back(middle);
    values.push_back(std::nextafter(middle, 0.0f));
    values.push_back(std::nextafter(middle, middle * 2));
  }
  const int64_t dim = 64;
  values.resize((values.size() + dim - 1) / dim * dim);
  const auto time = static_cast<int64_t>(values.size()) / dim;
  const int64_t capacity = (time + 15) / 16 * 16;
  std::vector<int64_t> position_values;
  for (int64_t t = 0; t < time; ++t) position_values.push_back(t);
  const Operand positions({1, time}, position_values);
  const Operand both({1, time, 1, dim}, values);
  Node update;
  update.op = Op::kCacheUpdate;
  for (const NamedBackend& cpu : cpu_backends(1)) {
    Cache cache(DataType::kF16, 1, 1, dim, dim, capacity);
    run(*cpu.backend, update, {&both, &both, &positions}, {}, {}, &cache);
    const auto* stored = reinterpret_cast<const uint16_t*>(cache.get()->values);
    const auto* keys = reinterpret_cast<const uint16_t*>(cache.get()->keys);
    int wrong = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const uint16_t expected = f32_to_f16(values[i]);
      const size_t t = i / dim, d = i % dim;
      const uint16_t key = keys[(t / 16 * dim + d) * 16 + t % 16];
      for (uint16_t actual : {stored[i], key})
        if (actual != expected && !(std::isnan(values[i]) && std::isnan(f16_to_f32(actual))))
          ++wrong;
    }
    EXPECT_EQ(wrong, 0) << cpu.name;
  }
}

}  // namespace
}  // namespace gumbel::cpu
