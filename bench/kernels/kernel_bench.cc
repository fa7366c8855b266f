// Speed of the CPU kernels by weight type and instruction set: matrix products of one token (GB/s
// of packed weights) and of a prompt chunk (GOPS, a multiply-add counted as two), and attention.
//
//   gumbel_kernel_bench --benchmark_filter='linear/q4_1/vnni'

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "base/float16.h"

namespace gumbel::cpu {
namespace {

/// Memory aligned to 64 bytes, all zeros.
class Buffer {
 public:
  explicit Buffer(uint64_t bytes)
      : bytes_(bytes),
        data_(static_cast<std::byte*>(::operator new(bytes + 64, std::align_val_t{64}))) {
    std::memset(data_.get(), 0, bytes);
  }
  std::byte* data() const { return data_.get(); }
  std::span<std::byte> span() const { return {data_.get(), bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  uint64_t bytes_;
  std::unique_ptr<std::byte, Free> data_;
};

Tensor tensor(DataType type, std::initializer_list<int64_t> dims, const Buffer& buffer) {
  Tensor t;
  t.type = type;
  t.rank = static_cast<int>(dims.size());
  std::copy(dims.begin(), dims.end(), t.dims.begin());
  t.data = buffer.data();
  return t;
}

void fill_normal(const Buffer& buffer) {
  std::mt19937 random{7};
  std::normal_distribution<float> normal;
  auto* values = reinterpret_cast<float*>(buffer.data());
  for (size_t i = 0; i < buffer.span().size() / sizeof(float); ++i) values[i] = normal(random);
}

/// x [m, k] times a matrix [n, k]; enough copies of the matrix that they do not stay in the caches,
/// one after the other, as the layers of a model.
void linear(benchmark::State& state, CpuTarget target, WeightType type, int threads, int64_t m,
            int64_t n, int64_t k) {
  CpuBackend backend(target, threads);
  const uint64_t bytes = backend.packed_bytes(type, n, k);
  const uint64_t copies = m > 1 ? 1 : 1 + (uint64_t{256} << 20) / bytes;
  const Buffer weights(bytes * copies);
  std::mt19937 random{7};
  // Any bytes are codes. The upper ones of 2 and of 4 lie in [0x3C, 0x3F]: floats about 1, since
  // subnormal numbers would be slow.
  for (uint64_t i = 0; i < bytes; ++i)
    weights.data()[i] = static_cast<std::byte>(i % 2 == 0 ? random() : 0x3C | (random() & 3u));
  for (uint64_t i = 1; i < copies; ++i)
    std::memcpy(weights.data() + i * bytes, weights.data(), bytes);
  const Buffer x(static_cast<uint64_t>(m * k) * 4), y(static_cast<uint64_t>(m * n) * 4);
  fill_normal(x);
  Node node;
  node.op = Op::kLinear;
  const Tensor inputs[] = {tensor(DataType::kF32, {m, k}, x)};
  const Tensor outputs[] = {tensor(DataType::kF32, {m, n}, y)};
  PackedWeight matrix[] = {{type, 1, n, k, false, weights.data()}};
  OpCall call;
  call.node = &node;
  call.inputs = inputs;
  call.outputs = outputs;
  call.weights = matrix;
  const Buffer scratch(backend.scratch_bytes(call));
  call.scratch = scratch.span();
  uint64_t copy = 0;
  for (auto _ : state) {
    matrix[0].data = weights.data() + copy * bytes;
    copy = (copy + 1) % copies;
    backend.execute(call);
  }
  using benchmark::Counter;
  if (m == 1)
    state.counters["GB/s"] =
        Counter(static_cast<double>(bytes) * 1e-9, Counter::kIsIterationInvariantRate);
  else
    state.counters["GOPS"] =
        Counter(2e-9 * static_cast<double>(m * n * k), Counter::kIsIterationInvariantRate);
}

/// `time` queries at the end of a sequence of `length`.
void attention(benchmark::State& state, CpuTarget target, int threads, int64_t time, int64_t length,
               int64_t heads, int64_t kv_heads, int64_t dim) {
  CpuBackend backend(target, threads);
  const int64_t capacity = (length + 15) / 16 * 16;
  const auto cache_bytes = static_cast<uint64_t>(kv_heads * capacity * dim * 2);
  const Buffer keys(cache_bytes), values(cache_bytes);
  KvCache cache{DataType::kF16, 1, kv_heads, dim, dim, capacity, keys.data(), values.data()};
  const Buffer q(static_cast<uint64_t>(time * heads * dim) * 4), out(q.span().size());
  fill_normal(q);
  const Buffer positions(static_cast<uint64_t>(time) * 8);
  for (int64_t t = 0; t < time; ++t)
    reinterpret_cast<int64_t*>(positions.data())[t] = length - time + t;
  Node node;
  node.op = Op::kAttention;
  node.attributes.scale = 0.125f;
  const Tensor inputs[] = {tensor(DataType::kF32, {1, time, heads, dim}, q),
                           tensor(DataType::kI64, {1, time}, positions)};
  const Tensor outputs[] = {tensor(DataType::kF32, {1, time, heads, dim}, out)};
  OpCall call;
  call.node = &node;
  call.inputs = inputs;
  call.outputs = outputs;
  call.cache = &cache;
  const Buffer scratch(backend.scratch_bytes(call));
  call.scratch = scratch.span();
  for (auto _ : state) backend.execute(call);
  state.counters["GOPS"] =
      benchmark::Counter(4e-9 * static_cast<double>(time * heads * length * dim),
                         benchmark::Counter::kIsIterationInvariantRate);
}

void register_all() {
  const int cores = physical_cores();
  for (CpuTarget target : supported_targets()) {
    // One thread is measured by its own time, which other programs disturb less.
    const auto measure = [](benchmark::internal::Benchmark* b, int threads) {
      if (threads > 1) b->UseRealTime();
    };
    for (int i = 0; i < kWeightTypeCount; ++i) {
      const auto type = static_cast<WeightType>(i);
      const std::string_view type_name = traits(type).name;
      const struct {
        int64_t m, n, k;
      } kShapes[] = {
          {1, 576, 1536}, {1, 2048, 2048}, {8, 1536, 512}, {128, 1536, 512}, {128, 2048, 2048}};
      for (int threads : std::set<int>{1, cores})
        for (const auto& s : kShapes)
          measure(benchmark::RegisterBenchmark(
                      fmt::format("linear/{}/{}/threads:{}/{}x{}x{}", type_name, name(target),
                                  threads, s.m, s.n, s.k)
                          .c_str(),
                      linear, target, type, threads, s.m, s.n, s.k),
                  threads);
    }
    const struct {
      int64_t time, length, heads, kv_heads, dim;
    } kShapes[] = {{1, 1024, 9, 3, 64},
                   {1, 8192, 9, 3, 64},
                   {128, 1024, 9, 3, 64},
                   {1, 512, 4, 1, 256},
                   {128, 512, 4, 1, 256}};
    for (int threads : std::set<int>{1, cores})
      for (const auto& s : kShapes)
        measure(benchmark::RegisterBenchmark(
                    fmt::format("attention/{}/threads:{}/{}of{}/{}:{}x{}", name(target), threads,
                                s.time, s.length, s.heads, s.kv_heads, s.dim)
                        .c_str(),
                    attention, target, threads, s.time, s.length, s.heads, s.kv_heads, s.dim),
                threads);
  }
}

}  // namespace
}  // namespace gumbel::cpu

int main(int argc, char** argv) {
  gumbel::cpu::register_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
