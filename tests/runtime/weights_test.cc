#include "runtime/weights.h"

#include <cmath>
#include <cstring>
#include <numeric>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "export/test_files.h"
#include "program/tiny_program.h"
#include "runtime/running_program.h"

namespace gumbel {
namespace {

using test::RunningProgram;

std::unique_ptr<Backend> cpu_backend() {
  return std::make_unique<cpu::CpuBackend>(cpu::supported_targets().front(), 1);
}

TEST(Weights, AProgramRunsTheSameWhateverItWasPackedFor) {
  std::vector<int64_t> tokens(12);
  std::iota(tokens.begin(), tokens.end(), 3);
  for (const WeightType type : {WeightType::kF32, WeightType::kQ8_0, WeightType::kQ4_1}) {
    const test::TemporaryFolder folder;
    test::TinyModel model;
    model.type = type;
    model.vocab = 51;  // a last tile that is not full
    const auto for_cpu = folder.path() / "cpu";
    const auto for_reference = folder.path() / "reference";
    test::write_tiny_program(for_cpu, model, *cpu_backend());
    test::write_tiny_program(for_reference, model, *make_reference_backend());
    EXPECT_NE(test::read_file(for_cpu), test::read_file(for_reference));
    const std::vector<float> expected =
        RunningProgram(for_reference, make_reference_backend(), 1).all_logits(tokens, 12);
    for (const float x : expected) ASSERT_TRUE(std::isfinite(x));
    EXPECT_EQ(RunningProgram(for_cpu, make_reference_backend(), 1).all_logits(tokens, 12),
              expected);
    EXPECT_EQ(RunningProgram(for_cpu, cpu_backend(), 1).all_logits(tokens, 12), expected);
    EXPECT_EQ(RunningProgram(for_reference, cpu_backend(), 1).all_logits(tokens, 12), expected);
  }
}

TEST(Weights, AreUsedWhereTheyAreMapped) {
  const test::TemporaryFolder folder;
  const auto path = folder.path() / "p.gumbel";
  test::write_tiny_program(path, {}, *cpu_backend());
  const ProgramFile file(path);
  const auto same = cpu_backend();
  const Weights mapped(file, *same);
  const auto other = make_reference_backend();
  const Weights repacked(file, *other);
  for (size_t i = 0; i < mapped.all().size(); ++i) {
    EXPECT_EQ(mapped.all()[i].data, file.weight_bytes(i).data());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(mapped.all()[i].data) % 64, 0u);
    const PackedWeight& weight = repacked.all()[i];
    EXPECT_EQ(weight.data == file.weight_bytes(i).data(), weight.is_vector);
    EXPECT_EQ(weight.is_vector, file.program().weights[i].shape.size() == 1);
  }
}

TEST(Weights, ABackendOfAnotherNameIsToldOfThoseThereAre) {
  test::expect_error(ErrorCode::kUnsupported, "cpu", [] { make_backend("tpu", 1); });
}

}  // namespace
}  // namespace gumbel
