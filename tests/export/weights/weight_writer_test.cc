#include "export/weights/weight_writer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "base/float16.h"
#include "export/random_checkpoint.h"
#include "export/test_files.h"
#include "export/weights/quantize.h"

namespace gumbel {
namespace {

using test::expect_error;

using Bytes = std::vector<std::byte>;

WeightInfo info(WeightType type, Shape shape, std::string name = "w") {
  WeightInfo weight;
  weight.name = std::move(name);
  weight.type = type;
  weight.shape = std::move(shape);
  return weight;
}

void append_to(Bytes& bytes, std::span<const std::byte> more) {
  bytes.insert(bytes.end(), more.begin(), more.end());
}

/// Every matrix read, quantized and packed whole, one after the other.
Bytes plainly(const WeightInfo& weight, const CheckpointTensor& tensor, const Backend& backend) {
  Bytes all;
  for (int64_t matrix = 0; matrix < weight.matrices(); ++matrix) {
    WeightRows rows;
    tensor.read_rows(matrix * weight.rows(), weight.rows(), rows);
    if (weight.type != rows.type) rows = quantize(rows, weight.type);
    Bytes packed(backend.packed_bytes(weight.type, weight.rows(), weight.columns()));
    backend.pack(rows, packed);
    append_to(all, packed);
  }
  return all;
}

// The largest crosses several batches of one thread.
TEST(WeightWriter, PacksEveryMatrixWholeWhateverTheThreads) {
  const auto checkpoint = random_checkpoint();
  const std::unique_ptr<Backend> backends[] = {
      std::make_unique<cpu::CpuBackend>(cpu::CpuTarget::kScalar, 1), make_reference_backend()};
  using enum WeightType;
  const std::vector<WeightInfo> weights = {
      info(kQ4_1, {1200, 2048}, "a.weight"),  info(kBF16, {37, 40}, "b.weight"),
      info(kQ8_0, {3, 500, 608}, "c.weight"), info(kQ4_0, {70, 1, 64}, "d.weight"),
      info(kBF16, {5, 17, 24}, "e.weight"),   info(kQ8_0, {1, 32}, "f.weight"),
      info(kQ4_1, {130, 33, 96}, "g.weight")};
  for (const auto& backend : backends) {
    SCOPED_TRACE(backend->name());
    Bytes expected;
    uint64_t source = 0;
    for (const WeightInfo& weight : weights) {
      append_to(expected, plainly(weight, checkpoint->tensor(weight.name, weight.shape), *backend));
      source += static_cast<uint64_t>(weight.matrices() * weight.rows() * weight.columns()) * 2;
    }
    const float values[] = {1, 2, 3};
    append_to(expected, std::as_bytes(std::span(values)));
    for (const int threads : {1, 2, 3, 7}) {
      SCOPED_TRACE(threads);
      Bytes found;
      uint64_t last_read = 0, last_written = 0;
      WeightWriter writer(
          *backend, threads, [&](std::span<const std::byte> bytes) { append_to(found, bytes); },
          [&](uint64_t read, uint64_t written) {
            EXPECT_GE(read, last_read);
            EXPECT_EQ(written, found.size());
            last_read = read;
            last_written = written;
          });
      for (const WeightInfo& weight : weights)
        writer.write_matrices(weight, checkpoint->tensor(weight.name, weight.shape));
      writer.write_values(values);
      writer.finish();
      EXPECT_TRUE(found == expected);
      EXPECT_EQ(last_read, source);
      EXPECT_EQ(last_written, expected.size());
    }
  }
}

/// Rows of a type, the same ones for every tensor of these dimensions.
class RowsTensor : public CheckpointTensor {
 public:
  RowsTensor(WeightRows rows, std::vector<int64_t> shape)
      : rows_(std::move(rows)), shape_(std::move(shape)) {}
  WeightType type() const override { return rows_.type; }
  const std::vector<int64_t>& shape() const override { return shape_; }
  void read_rows(int64_t first, int64_t count, WeightRows& out) const override {
    out.resize(rows_.type, count, rows_.columns);
    const auto copy = [&](const auto& from, auto& to) {
      const size_t row = from.size() / static_cast<size_t>(rows_.rows);
      std::copy_n(from.begin() + static_cast<long>(static_cast<size_t>(first) * row), to.size(),
                  to.begin());
    };
    copy(rows_.floats, out.floats);
    copy(rows_.halves, out.halves);
    copy(rows_.codes, out.codes);
    copy(rows_.scale, out.scale);
    copy(rows_.minimum, out.minimum);
  }

 private:
  WeightRows rows_;
  std::vector<int64_t> shape_;
};

/// A tensor [3, 100, 64] of ones in `type`, with `value` at one place.
RowsTensor ones_but(WeightType type, int64_t row, int64_t column, float value) {
  WeightRows rows;
  rows.resize(type, 300, 64);
  const auto at = static_cast<size_t>(row * 64 + column);
  std::fill(rows.floats.begin(), rows.floats.end(), 1.0f);
  std::fill(rows.halves.begin(), rows.halves.end(),
            type == WeightType::kF16 ? f32_to_f16(1) : f32_to_bf16(1));
  std::fill(rows.scale.begin(), rows.scale.end(), 1.0f);
  std::fill(rows.codes.begin(), rows.codes.end(), uint8_t{7});
  if (type == WeightType::kF32)
    rows.floats[at] = value;
  else if (type == WeightType::kF16)
    rows.halves[at] = f32_to_f16(value);
  else if (type == WeightType::kBF16)
    rows.halves[at] = f32_to_bf16(value);
  else
    rows.scale[at / 32] = value;
  return {std::move(rows), {3, 100, 64}};
}

TEST(WeightWriter, NamesTheWeightThatIsNotFinite) {
  const auto backend = make_reference_backend();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto write = [&](const CheckpointTensor& tensor, WeightType type) {
    WeightWriter writer(*backend, 2, [](std::span<const std::byte>) {});
    writer.write_matrices(info(type, {3, 100, 64}, "experts"), tensor);
    writer.finish();
  };
  using enum WeightType;
  for (const WeightType source : {kF32, kF16, kBF16})
    for (const WeightType target : {source, kQ8_0, kQ4_1}) {
      SCOPED_TRACE(fmt::format("{} to {}", traits(source).name, traits(target).name));
      for (const float value : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
        expect_error(ErrorCode::kInvalidArgument, "at row 217, column 41",
                     [&] { write(ones_but(source, 217, 41, value), target); });
        expect_error(ErrorCode::kInvalidArgument, "experts: expected finite weights, got ",
                     [&] { write(ones_but(source, 299, 63, value), target); });
      }
      write(ones_but(source, 217, 41, 65504), target);  // the largest float16
    }
  // What a group's scale makes of it: the first column of the group.
  for (const WeightType source : {kQ4_0, kQ8_0, kMXFP4})
    expect_error(ErrorCode::kInvalidArgument, "experts: expected finite weights, got ",
                 [&] { write(ones_but(source, 217, 41, kInfinity), source); });
  expect_error(ErrorCode::kInvalidArgument, "at row 217, column 32",
               [&] { write(ones_but(kMXFP4, 217, 41, 0x1p126f), kMXFP4); });
  // Finite, but not as a float16 scale.
  expect_error(ErrorCode::kInvalidArgument,
               "experts: quantize: weights at row 217, columns 32 to 63 are too large",
               [&] { write(ones_but(kF32, 217, 41, 1e30f), kQ8_0); });
}

TEST(WeightWriter, VectorsAreFloat32AndFinite) {
  const auto backend = make_reference_backend();
  Bytes found;
  WeightWriter writer(*backend, 2,
                      [&](std::span<const std::byte> bytes) { append_to(found, bytes); });
  WeightRows row;
  row.resize(WeightType::kF16, 1, 3);
  row.halves = {f32_to_f16(1), f32_to_f16(-2.5f), f32_to_f16(3)};
  const WeightInfo weight = info(WeightType::kF32, {3}, "norm");
  writer.write_vector(weight, RowsTensor(row, {3}));
  const float expected[] = {1, -2.5f, 3};
  ASSERT_EQ(found.size(), sizeof(expected));
  EXPECT_EQ(std::memcmp(found.data(), expected, sizeof(expected)), 0);
  row.halves[2] = 0x7C00;
  expect_error(ErrorCode::kInvalidArgument,
               "norm: expected finite weights, got inf at row 0, column 2",
               [&] { writer.write_vector(weight, RowsTensor(row, {3})); });
}

// The first of several errors in the order of the rows, whichever thread meets its own first.
TEST(WeightWriter, TheFirstErrorIsReported) {
  const auto backend = make_reference_backend();
  WeightRows rows;
  rows.resize(WeightType::kF32, 4096, 1024);
  for (const size_t row : {3000u, 1500u, 4095u, 2000u})
    rows.floats[row * 1024 + 7] = std::numeric_limits<float>::infinity();
  const RowsTensor tensor(std::move(rows), {4096, 1024});
  for (const int threads : {1, 2, 5}) {
    WeightWriter writer(*backend, threads, [](std::span<const std::byte>) {});
    expect_error(ErrorCode::kInvalidArgument, "at row 1500, column 7",
                 [&] { writer.write_matrices(info(WeightType::kQ8_0, {4096, 1024}), tensor); });
  }
}

TEST(WeightWriter, ErrorsOfAppendingPassThrough) {
  const auto backend = make_reference_backend();
  const auto checkpoint = random_checkpoint();
  for (const int threads : {1, 3}) {
    WeightWriter writer(*backend, threads, [](std::span<const std::byte>) {
      throw Error(ErrorCode::kIo, "the disk is full");
    });
    try {
      writer.write_matrices(info(WeightType::kBF16, {64, 64}),
                            checkpoint->tensor("a.weight", {64, 64}));
      writer.finish();
      ADD_FAILURE() << "expected an error";
    } catch (const Error& error) {
      EXPECT_STREQ(error.what(), "the disk is full");
    }
  }
}

}  // namespace
}  // namespace gumbel
