// Files that are cut short or changed: refused with one line, or harmless.
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "backends/reference/reference_backend.h"
#include "base/error.h"
#include "export/test_files.h"
#include "program/header.h"
#include "program/program_file.h"
#include "program/tiny_program.h"
#include "runtime/executor.h"
#include "runtime/weights.h"

namespace gumbel {
namespace {

using test::expect_error;
using test::read_file;
using test::succeeds_or_refuses;
using test::TemporaryFolder;

constexpr size_t kPreamble = 64;

uint64_t number_at(const std::string& file, size_t offset) {
  uint64_t number;
  std::memcpy(&number, file.data() + offset, sizeof(number));
  return number;
}

// Gives the header of `file` the checksum that it now has.
void fix_checksum(std::string& file) {
  const uint64_t checksum = XXH3_64bits(file.data() + kPreamble, number_at(file, 8));
  std::memcpy(file.data() + 16, &checksum, sizeof(checksum));
}

std::string tiny_file(const TemporaryFolder& folder, bool sample, bool hybrid = false) {
  test::TinyModel model;
  model.hybrid = hybrid;
  model.width = 32;
  model.head_dim = 8;
  model.vocab = 20;
  model.window = 8;
  model.sample = sample;
  const auto path = folder.path() / "good";
  test::write_tiny_program(path, model, *make_reference_backend());
  return read_file(path);
}

// Calls `method` with B = 1 and T = `time`, whatever its inputs are.
void call(const Program& program, const Method& method, const Weights& weights, Backend& backend,
          int64_t first, int64_t time, SessionState& state) {
  Executor executor(program, method, weights.all(), backend, 1, time);
  std::vector<std::vector<int64_t>> storage;
  std::vector<Tensor> inputs;
  for (const Input& input : method.inputs) {
    const Value& value = method.values[static_cast<size_t>(input.value)];
    Tensor tensor{value.type, static_cast<int>(value.shape.size())};
    for (size_t d = 0; d < value.shape.size(); ++d)
      tensor.dims[d] = resolve(value.shape[d], 1, time);
    if (tensor.elements() > 1'000'000)
      fail(ErrorCode::kInvalidArgument, "an input larger than this test's");
    storage.emplace_back(static_cast<size_t>(tensor.elements()));
    std::iota(storage.back().begin(), storage.back().end(), first);
    inputs.push_back(tensor);
  }
  for (size_t i = 0; i < inputs.size(); ++i)
    inputs[i].data = reinterpret_cast<std::byte*>(storage[i].data());
  executor.run(inputs, &state);
}

void run_all_methods(const std::filesystem::path& path, std::string_view backend_name) {
  const ProgramFile file(path);
  const auto backend = make_backend(backend_name, 1);
  const Weights weights(file, *backend);
  for (const Method& method : file.program().methods) {
    SessionState state(file.program(), 1);
    const int64_t chunk = std::min<int64_t>(file.program().constant("get_max_prefill_chunk"), 3);
    call(file.program(), method, weights, *backend, 0, chunk, state);
    call(file.program(), method, weights, *backend, chunk, 1, state);
  }
}

TEST(HostileProgram, CutShortAnywhereItIsRefused) {
  const TemporaryFolder folder;
  const std::string good = tiny_file(folder, true);
  const size_t header_end = kPreamble + number_at(good, 8);
  for (size_t size = 0; size < good.size(); size += size < 200 ? 1 : size < header_end ? 23 : 1777)
    expect_error(ErrorCode::kCorruptFile,
                 "cut: ", [&] { ProgramFile{folder.write("cut", good.substr(0, size))}; });
  const auto last = folder.write("cut", good.substr(0, good.size() - 1));
  expect_error(ErrorCode::kCorruptFile, "expected a segment on a page", [&] { ProgramFile{last}; });
}

// The header's checksum says whether a file was damaged, not whether it means well: here it always
// fits, so that decoding, verification, planning and execution see every changed bit.
TEST(HostileProgram, AnyBitOfTheHeaderMayChange) {
  const TemporaryFolder folder;
  std::mt19937 random(7);
  for (const auto& [sample, hybrid] : {std::pair{true, false}, {false, false}, {true, true}}) {
    const std::string good = tiny_file(folder, sample, hybrid);
    const uint64_t header = number_at(good, 8);
    int accepted = 0;
    int refused = 0;
    for (int i = 0; i < 5000; ++i) {
      std::string bad = good;
      const int flips = i % 3 == 2 ? 2 : 1;
      for (int k = 0; k < flips; ++k) {
        const size_t at = kPreamble + random() % header;
        bad[at] = static_cast<char>(bad[at] ^ (1 << random() % 8));
      }
      fix_checksum(bad);
      SCOPED_TRACE(testing::Message() << "change " << i);
      const bool sound = succeeds_or_refuses([&] {
        const auto bytes = std::as_bytes(std::span(bad.data(), bad.size()));
        verify(decode_header(bytes.subspan(kPreamble, header)), bad.size());
      });
      ++(sound ? accepted : refused);
      // What passed runs, or is refused by a later check: each on one backend or the other.
      if (sound)
        succeeds_or_refuses([&] {
          run_all_methods(folder.write("bad", bad), accepted % 2 == 0 ? "reference" : "cpu");
        });
      if (testing::Test::HasFailure()) return;
    }
    EXPECT_GT(accepted, 300);
    EXPECT_GT(refused, 300);
  }
}

TEST(HostileProgram, FieldsThatShareBytesCannotMultiplyThem) {
  constexpr uint32_t kEntries = 2000;
  Program program;
  for (uint32_t i = 0; i < kEntries; ++i)
    program.provenance[fmt::format("key {:04}", i)] = i == 0 ? std::string(1 << 16, 'v') : "";
  std::vector<std::byte> header = encode_header(program);
  EXPECT_EQ(decode_header(header).provenance.size(), kEntries);
  // Elements of a vector of tables are distances from themselves: let all lead to the first table,
  // whose text would be 128 MiB once copied for each of them.
  std::vector<uint32_t> words(header.size() / 4);
  std::memcpy(words.data(), header.data(), words.size() * 4);
  const auto length = std::find(words.begin(), words.end(), kEntries);
  ASSERT_NE(length, words.end());
  for (uint32_t i = 1; i < kEntries; ++i) length[1 + static_cast<int64_t>(i)] = length[1] - 4 * i;
  std::memcpy(header.data(), words.data(), words.size() * 4);
  expect_error(ErrorCode::kCorruptFile, "whose fields share no bytes",
               [&] { decode_header(header); });
}

TEST(HostileProgram, NamesFitOnOneLine) {
  Program program;
  program.packing = "cpu\nsecond line";
  expect_error(ErrorCode::kCorruptFile, "without control characters",
               [&] { decode_header(encode_header(program)); });
  program.packing = std::string(513, 'x');
  expect_error(ErrorCode::kCorruptFile, "names of at most 512 characters",
               [&] { decode_header(encode_header(program)); });
}

TEST(HostileProgram, AnUnknownPackingIsRefused) {
  const TemporaryFolder folder;
  const std::string good = tiny_file(folder, false);
  std::string bad = good;
  const size_t at = bad.find("reference");
  ASSERT_NE(at, std::string::npos);
  bad.replace(at, 9, "preferred");
  fix_checksum(bad);
  const auto path = folder.write("bad", bad);
  expect_error(ErrorCode::kUnsupported, "preferred", [&] { run_all_methods(path, "reference"); });
}

TEST(HostileProgram, SegmentsMustHaveTheSizeOfTheirPacking) {
  const TemporaryFolder folder;
  const std::string good = tiny_file(folder, false);
  const ProgramFile file(folder.path() / "good");
  const WeightInfo& last = file.program().weights.back();
  ASSERT_EQ(last.shape.size(), 2u);
  // One byte less in the header alone: an 8-byte number that occurs once next to its offset.
  std::string bad = good;
  uint64_t pair[2] = {last.bytes, last.checksum};
  size_t at = std::string::npos;
  for (size_t i = kPreamble; i + 8 <= kPreamble + number_at(good, 8); ++i)
    if (std::memcmp(good.data() + i, &pair[0], 8) == 0 &&
        (std::memcmp(good.data() + i + 8, &pair[1], 8) == 0 ||
         std::memcmp(good.data() + i - 8, &pair[1], 8) == 0))
      at = i;
  ASSERT_NE(at, std::string::npos);
  --pair[0];
  std::memcpy(bad.data() + at, &pair[0], 8);
  fix_checksum(bad);
  const auto path = folder.write("bad", bad);
  expect_error(ErrorCode::kCorruptFile, "weight " + last.name + ": expected",
               [&] { run_all_methods(path, "reference"); });
}

}  // namespace
}  // namespace gumbel
