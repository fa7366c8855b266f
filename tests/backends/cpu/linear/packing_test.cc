// Packed weights: unpacking gives back what was packed, rows dequantize as they did, and packing
// takes hardly more memory than the GGUF types.

#include "backends/cpu/linear/packing.h"

#include <cstring>

#include "backends/cpu/op_harness.h"

namespace gumbel::cpu {
namespace {

void expect_equal(const WeightRows& actual, const WeightRows& expected) {
  EXPECT_EQ(actual.rows, expected.rows);
  EXPECT_EQ(actual.columns, expected.columns);
  EXPECT_EQ(actual.floats, expected.floats);
  EXPECT_EQ(actual.halves, expected.halves);
  EXPECT_EQ(actual.codes, expected.codes);
  EXPECT_EQ(actual.scale, expected.scale);
  EXPECT_EQ(actual.sub_scale, expected.sub_scale);
  EXPECT_EQ(actual.minimum, expected.minimum);
  EXPECT_EQ(actual.sub_minimum, expected.sub_minimum);
}

class Packing : public testing::TestWithParam<int> {
 protected:
  WeightType type() const { return static_cast<WeightType>(GetParam()); }
  std::mt19937 random_{20240601};
};

TEST_P(Packing, UnpacksToWhatWasPacked) {
  const CpuBackend backend(CpuTarget::kScalar, 1);
  const int64_t block = traits(type()).block;
  for (int64_t rows : {1, 15, 16, 17, 40})
    for (int64_t blocks : {1, 2, 3, 5}) {
      SCOPED_TRACE(testing::Message() << rows << " x " << blocks << " blocks");
      const WeightRows weights = random_rows(type(), rows, blocks * block, random_);
      const Weight packed(backend, weights);
      WeightRows unpacked;
      backend.unpack(packed.packed(), 0, rows, unpacked);
      expect_equal(unpacked, weights);
      // A run that starts within a tile.
      const int64_t first = rows / 2;
      backend.unpack(packed.packed(), first, rows - first, unpacked);
      std::vector<float> gathered(static_cast<size_t>(weights.columns));
      std::vector<float> expected = gathered;
      std::vector<float> from_unpacked = gathered;
      for (int64_t row = first; row < rows; ++row) {
        dequantize_row(weights, row, expected);
        dequantize_row(unpacked, row - first, from_unpacked);
        EXPECT_TRUE(same_bits(from_unpacked, expected));
        gather_row(packed.packed(), row, gathered.data());
        EXPECT_TRUE(same_bits(gathered, expected));
      }
    }
}

TEST_P(Packing, RunsPackedAloneMakeTheMatrix) {
  const CpuBackend backend(CpuTarget::kScalar, 1);
  const int64_t columns = 3 * traits(type()).block;
  const WeightRows all = random_rows(type(), 40, columns, random_);
  const Weight whole(backend, all);
  WeightRows run;
  uint64_t offset = 0;
  for (int64_t first = 0; first < 40; first += 16) {
    const int64_t rows = std::min<int64_t>(16, 40 - first);
    backend.unpack(whole.packed(), first, rows, run);
    const Weight part(backend, run);
    const uint64_t bytes = backend.packed_bytes(type(), rows, columns);
    EXPECT_EQ(std::memcmp(part.packed().data, whole.packed().data + offset, bytes), 0);
    offset += bytes;
  }
  EXPECT_EQ(offset, backend.packed_bytes(type(), 40, columns));
}

TEST_P(Packing, TakesHardlyMoreThanGguf) {
  // Bits per weight of the GGUF types; 2 and 3 bits are stored as 4, and the scale of MXFP4, a byte
  // there, as float32.
  const double kGgufBits[kWeightTypeCount] = {32,  16,    16,  4.5, 5,      5.5, 6,    8.5,
                                              5.0, 4.875, 4.5, 5.5, 6.5625, 4.5, 4.25, 5.0};
  const double bits = static_cast<double>(packed_bytes(type(), 4096, 2048)) * 8 / (4096 * 2048);
  EXPECT_LE(bits, kGgufBits[GetParam()] * 1.03);
  EXPECT_EQ(tile_bytes(type(), 2048) % 64, 0);
  EXPECT_EQ(tile_bytes(type(), 256) % 64, 0);
}

INSTANTIATE_TEST_SUITE_P(Types, Packing, testing::Range(0, kWeightTypeCount),
                         [](const auto& param) {
                           return std::string(traits(static_cast<WeightType>(param.param)).name);
                         });

}  // namespace
}  // namespace gumbel::cpu
