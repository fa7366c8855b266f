// Decoding allocates nothing.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "backends/cpu/cpu_backend.h"
#include "export/test_files.h"
#include "program/tiny_program.h"
#include "runtime/running_program.h"

namespace {

std::atomic<long> allocations = 0;

void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes == 0 ? 1 : bytes) != 0) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new[](std::size_t bytes) { return counted(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace gumbel {
namespace {

TEST(Allocation, IsCounted) {
  const long before = allocations;
  std::vector<int>* const one = new std::vector<int>(10);
  EXPECT_EQ(allocations - before, 2);
  delete one;
}

// A prompt's chunk and several steps of decoding, with and without sampling filters.
void expect_no_allocation(WeightType type, int threads) {
  const test::TemporaryFolder folder;
  test::TinyModel model;
  model.vocab = 2000;
  model.window = 8;
  model.type = type;
  model.kv = type == WeightType::kF32 ? DataType::kF32 : DataType::kF16;
  model.sample = true;
  const cpu::CpuBackend packer(cpu::CpuTarget::kScalar, 1);
  const auto path = folder.path() / "p.gumbel";
  test::write_tiny_program(path, model, packer);
  for (const cpu::CpuTarget target : cpu::supported_targets()) {
    test::RunningProgram p(path, std::make_unique<cpu::CpuBackend>(target, threads), 1);
    Executor& forward = p.executor("forward");
    SessionState state = p.new_state(1);
    const test::DrawInputs settings[] = {{{0.0f}, {0}, {1.0f}, {1}, {0.0f}},
                                         {{1.0f}, {0}, {1.0f}, {1}, {0.0f}},
                                         {{0.8f}, {40}, {0.9f}, {2}, {0.05f}},
                                         {{2.0f}, {0}, {0.95f}, {3}, {0.0f}},
                                         {{1.5f}, {1000}, {1.0f}, {4}, {0.0f}}};
    std::vector<int64_t> chunk(16, 7);
    std::vector<int64_t> chunk_positions = test::positions({0}, 16);
    int64_t token = 3;
    int64_t position = 16;
    for (const test::DrawInputs& draw : settings) {
      std::vector<Tensor> prompt = {test::matrix(chunk, 1), test::matrix(chunk_positions, 1)};
      std::vector<Tensor> step = {
          {DataType::kI64, 2, {1, 1}, reinterpret_cast<std::byte*>(&token)},
          {DataType::kI64, 2, {1, 1}, reinterpret_cast<std::byte*>(&position)}};
      for (const Tensor& parameter : test::tensors(draw)) {
        prompt.push_back(parameter);
        step.push_back(parameter);
      }
      const long before = allocations;
      forward.run(prompt, &state);
      for (position = 16; position < 24; ++position)
        token = *forward.run(step, &state)[0].as<int64_t>();
      EXPECT_EQ(allocations - before, 0)
          << name(target) << ", " << threads << " threads, temperature " << draw.temperature[0];
      EXPECT_GE(token, 0);
    }
  }
}

TEST(Allocation, NoneWhileDecodingWithFloatWeights) {
  expect_no_allocation(WeightType::kF32, 1);
  expect_no_allocation(WeightType::kF32, 2);
}

TEST(Allocation, NoneWhileDecodingWithQuantizedWeights) {
  expect_no_allocation(WeightType::kQ8_0, 1);
  expect_no_allocation(WeightType::kQ4_1, 3);
}

}  // namespace
}  // namespace gumbel
