// Runs single ops on a backend, with data and weights made from a fixed seed.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "runtime/backend.h"

namespace gumbel::cpu {

/// Memory aligned as operands are, and not a byte longer than asked for, so that a sanitizer sees
/// what is touched outside.
class Buffer {
 public:
  explicit Buffer(size_t bytes);
  std::byte* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{64}); }
  };
  size_t size_;
  std::unique_ptr<std::byte, Free> data_;
};

/// A tensor that owns its elements.
class Operand {
 public:
  Operand(DataType type, std::vector<int64_t> dims);
  Operand(std::vector<int64_t> dims, const std::vector<float>& values);
  Operand(std::vector<int64_t> dims, const std::vector<int64_t>& values);

  const Tensor& tensor() const { return tensor_; }
  std::vector<float> floats() const;
  std::vector<int64_t> integers() const;

 private:
  Tensor tensor_;
  Buffer buffer_;
};

/// A weight packed by a backend, or a plain vector.
class Weight {
 public:
  Weight(const Backend& backend, const WeightRows& rows) : Weight(backend, {&rows, 1}) {}
  /// Several matrices of one shape.
  Weight(const Backend& backend, std::span<const WeightRows> matrices);
  explicit Weight(const std::vector<float>& vector);

  const PackedWeight& packed() const { return packed_; }

 private:
  PackedWeight packed_;
  Buffer buffer_;
};

/// The keys and values of one layer, every slot NaN to begin with.
class Cache {
 public:
  Cache(DataType type, int64_t batch, int64_t kv_heads, int64_t key_dim, int64_t value_dim,
        int64_t capacity);
  KvCache* get() { return &cache_; }

 private:
  Buffer keys_, values_;
  KvCache cache_;
};

/// A recurrent state, NaN to begin with.
class Recurrent {
 public:
  Recurrent(int64_t batch, int64_t elements);
  RecurrentState* get() { return &state_; }
  std::vector<float> floats() const;

 private:
  Buffer buffer_;
  RecurrentState state_;
};

/// Executes a node with scratch of exactly the size that the backend asks for, into `outputs`.
void execute(Backend& backend, const Node& node, std::vector<const Operand*> inputs,
             std::vector<const Weight*> weights, std::vector<const Operand*> outputs,
             Cache* cache = nullptr, Recurrent* recurrent = nullptr);

/// Executes a node with scratch of exactly the size that the backend asks for; the output, float32,
/// is NaN before. An empty `output` is a node without one.
std::vector<float> run(Backend& backend, const Node& node, std::vector<const Operand*> inputs,
                       std::vector<const Weight*> weights, const std::vector<int64_t>& output,
                       Cache* cache = nullptr);

/// Rows of random weights of any type: codes over all their values, scales of either sign, ranges
/// of the parts as GGUF's.
WeightRows random_rows(WeightType type, int64_t rows, int64_t columns, std::mt19937& random);

std::vector<float> random_floats(size_t count, std::mt19937& random, float spread = 1.0f);

/// A backend for every supported target; made once for each number of threads.
struct NamedBackend {
  std::string name;
  std::unique_ptr<CpuBackend> backend;
};
const std::vector<NamedBackend>& cpu_backends(int threads);

/// Whether two lists are equal bit for bit; NaNs equal each other. Names the first difference.
testing::AssertionResult same_bits(const std::vector<float>& actual,
                                   const std::vector<float>& expected);

}  // namespace gumbel::cpu
