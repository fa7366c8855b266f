#include "export/gguf/blocks.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>
#include <vector>

#include "export/gguf/file.h"
#include "export/huggingface/safetensors_file.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using test::data_path;

WeightRows unpack(const GgufTensor& tensor) {
  WeightRows rows;
  rows.resize(tensor.type, tensor.rows(), tensor.columns());
  const size_t row_bytes = tensor.data.size() / static_cast<size_t>(tensor.rows());
  for (int64_t row = 0; row < tensor.rows(); ++row)
    unpack_gguf_row(tensor.data.subspan(static_cast<size_t>(row) * row_bytes, row_bytes), row,
                    rows);
  return rows;
}

// The answers are gguf-py's dequantization of random blocks (tests/data/quants/make_quants.py).
TEST(GgufBlocks, DequantizeAsGgufPyDoesBitForBit) {
  const GgufFile file(data_path("quants/all_types.gguf"));
  const SafetensorsFile answers(data_path("quants/answers.safetensors"));
  std::set<WeightType> seen;
  for (const GgufTensor& tensor : file.tensors()) {
    SCOPED_TRACE(tensor.name);
    EXPECT_EQ(traits(tensor.type).name, tensor.name);
    EXPECT_EQ(tensor.shape, (std::vector<int64_t>{3, 512}));
    seen.insert(tensor.type);
    const WeightRows rows = unpack(tensor);
    const std::vector<float> expected = answers.read_f32(tensor.name);
    ASSERT_EQ(expected.size(), 3u * 512u);
    std::vector<float> row(512);
    for (int64_t r = 0; r < 3; ++r) {
      dequantize_row(rows, r, row);
      for (size_t c = 0; c < 512; ++c) {
        const auto bits = std::bit_cast<uint32_t>(expected[static_cast<size_t>(r) * 512 + c]);
        ASSERT_EQ(std::bit_cast<uint32_t>(row[c]), bits)
            << "row " << r << " column " << c << ": " << row[c];
        ASSERT_EQ(std::bit_cast<uint32_t>(element(rows, r, static_cast<int64_t>(c))), bits)
            << "row " << r << " column " << c;
      }
    }
  }
  EXPECT_EQ(seen.size(), static_cast<size_t>(kWeightTypeCount));
}

// Packers count on these ranges.
TEST(GgufBlocks, CodesStayBelowTwoToTheBits) {
  const GgufFile file(data_path("quants/all_types.gguf"));
  for (const GgufTensor& tensor : file.tensors()) {
    SCOPED_TRACE(tensor.name);
    const WeightRows rows = unpack(tensor);
    int largest = 0;
    for (const uint8_t code : rows.codes) largest = std::max<int>(largest, code);
    if (traits(tensor.type).is_float()) {
      EXPECT_TRUE(rows.codes.empty());
    } else {
      // 1,536 random codes of at most 6 bits reach the largest; 8-bit ones come near it.
      EXPECT_LT(largest, 1 << traits(tensor.type).element_bits);
      EXPECT_GE(largest, (1 << traits(tensor.type).element_bits) - 5);
    }
  }
}

TEST(GgufBlocks, MxfpExponentsAtTheEnds) {
  WeightRows rows;
  for (const auto& [exponent, scale] : std::vector<std::pair<uint8_t, float>>{{0, 0x1p-128f},
                                                                              {1, 0x1p-127f},
                                                                              {2, 0x1p-126f},
                                                                              {127, 0.5f},
                                                                              {128, 1.0f},
                                                                              {255, 0x1p127f}}) {
    std::vector<std::byte> block(17, std::byte{0x11});
    block[0] = static_cast<std::byte>(exponent);
    rows.resize(WeightType::kMXFP4, 1, 32);
    unpack_gguf_row(block, 0, rows);
    EXPECT_EQ(rows.scale[0], scale) << int{exponent};
  }
}

TEST(GgufBlocks, NumbersAndNamesOfTypes) {
  EXPECT_EQ(gguf_weight_type(12), WeightType::kQ4_K);
  EXPECT_EQ(gguf_weight_type(39), WeightType::kMXFP4);
  EXPECT_EQ(gguf_weight_type(16), std::nullopt);
  EXPECT_EQ(gguf_weight_type(4), std::nullopt);
  EXPECT_EQ(gguf_weight_type(0xFFFFFFFF), std::nullopt);
  EXPECT_EQ(gguf_type_name(16), "iq2_xxs");
  EXPECT_EQ(gguf_type_name(4'000'000'000), "type 4000000000");
  for (uint32_t number = 0; number < 64; ++number)
    if (const auto type = gguf_weight_type(number)) {
      EXPECT_EQ(gguf_type_name(number), traits(*type).name);
    }
}

}  // namespace
}  // namespace gumbel
