#include "program/program_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <utility>
#include <vector>

#include "base/error.h"
#include "program/header.h"

namespace gumbel {
namespace {

// What a file begins with. Numbers are little-endian, as everything in a program file.
struct Preamble {
  std::array<char, 8> magic;  // the last byte is the version of the format
  uint64_t header_bytes;
  uint64_t header_checksum;
  std::array<uint64_t, 5> reserved;  // zero; fills 64 bytes, which aligns the header
};
static_assert(sizeof(Preamble) == 64);

constexpr std::array<char, 8> kMagic = {'G', 'U', 'M', 'B', 'E', 'L', '\0', '\1'};

uint64_t align_to_segment(uint64_t offset) {
  return (offset + kSegmentAlignment - 1) / kSegmentAlignment * kSegmentAlignment;
}

Program read_program(std::span<const std::byte> file) {
  Preamble preamble{};
  if (file.size() >= sizeof(preamble)) std::memcpy(&preamble, file.data(), sizeof(preamble));
  if (std::memcmp(preamble.magic.data(), kMagic.data(), 7) != 0)
    fail(ErrorCode::kCorruptFile, "expected a Gumbel program, found {} other bytes", file.size());
  if (preamble.magic[7] != kMagic[7])
    fail(ErrorCode::kUnsupported, "expected version {} of the program format, got {}",
         static_cast<int>(kMagic[7]), static_cast<int>(preamble.magic[7]));
  if (preamble.reserved != decltype(preamble.reserved){})
    fail(ErrorCode::kCorruptFile, "expected the reserved bytes 24 to 63 to be zero");
  if (preamble.header_bytes > file.size() - sizeof(preamble))
    fail(ErrorCode::kCorruptFile, "expected a header of {} bytes, the file ends after {}",
         preamble.header_bytes, file.size() - sizeof(preamble));
  const auto header = file.subspan(sizeof(preamble), preamble.header_bytes);
  if (checksum_of(header) != preamble.header_checksum)
    fail(ErrorCode::kCorruptFile, "the header's checksum is {:016x}, expected {:016x}",
         checksum_of(header), preamble.header_checksum);
  Program program = decode_header(header);
  verify(program, file.size());
  return program;
}

}  // namespace

bool begins_as_program(const std::filesystem::path& path) {
  std::array<char, 7> begin{};
  std::ifstream file(path, std::ios::binary);
  return file.read(begin.data(), begin.size()) &&
         std::equal(begin.begin(), begin.end(), kMagic.begin());
}

ProgramFile::ProgramFile(const std::filesystem::path& path) : file_(path) {
  try {
    program_ = read_program(file_.bytes());
  } catch (const Error& error) {
    throw Error(error.code(), path.string() + ": " + error.what());
  }
}

std::span<const std::byte> ProgramFile::weight_bytes(size_t i) const {
  const WeightInfo& weight = program_.weights[i];
  return file_.bytes().subspan(weight.offset, weight.bytes);
}

void ProgramFile::check_weight(size_t i) const {
  const WeightInfo& weight = program_.weights[i];
  if (const uint64_t found = checksum_of(weight_bytes(i)); found != weight.checksum)
    fail(ErrorCode::kCorruptFile, "weight {}: its checksum is {:016x}, expected {:016x}",
         weight.name, found, weight.checksum);
}

void ProgramFile::check_weights() const {
  for (size_t i = 0; i < program_.weights.size(); ++i) check_weight(i);
}

ProgramWriter::ProgramWriter(const std::filesystem::path& path, Program program)
    : file_(path), program_(std::move(program)) {
  uint64_t offset = align_to_segment(sizeof(Preamble) + encode_header(program_).size());
  for (WeightInfo& weight : program_.weights) {
    weight.offset = offset;
    offset = align_to_segment(offset + weight.bytes);
  }
  verify(program_, offset);
}

void ProgramWriter::append(std::span<const std::byte> bytes) {
  if (weight_ == program_.weights.size())
    fail(ErrorCode::kInvalidArgument, "expected no bytes after {} complete weights, got {}",
         weight_, bytes.size());
  WeightInfo& weight = program_.weights[weight_];
  if (bytes.size() > weight.bytes - written_)
    fail(ErrorCode::kInvalidArgument, "weight {}: expected {} bytes, got {}", weight.name,
         weight.bytes, written_ + bytes.size());
  file_.write_at(weight.offset + written_, bytes);
  checksum_.add(bytes);
  written_ += bytes.size();
  if (written_ < weight.bytes) return;
  weight.checksum = checksum_.value();
  checksum_.reset();
  ++weight_;
  written_ = 0;
}

void ProgramWriter::finish() {
  if (weight_ != program_.weights.size())
    fail(ErrorCode::kInvalidArgument, "expected {} complete weights, got {}",
         program_.weights.size(), weight_);
  const std::vector<std::byte> header = encode_header(program_);
  const Preamble preamble{kMagic, header.size(), checksum_of(header), {}};
  file_.write_at(0, std::as_bytes(std::span(&preamble, 1)));
  file_.write_at(sizeof(preamble), header);
  file_.commit();
}

}  // namespace gumbel
