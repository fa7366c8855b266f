#include "program/program_file.h"

#include <xxhash.h>

#include <cstring>

#include "backends/reference/reference_backend.h"
#include "export/test_files.h"
#include "program/header.h"
#include "program/tiny_program.h"

namespace gumbel {
namespace {

using test::expect_error;
using test::read_file;
using test::TemporaryFolder;

std::vector<std::byte> sequence(size_t count, int first) {
  std::vector<std::byte> bytes(count);
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<std::byte>(first + static_cast<int>(i));
  return bytes;
}

// A program with every field set and two weights of 5 * 4 and 3 * 4 bytes.
Program two_vectors() {
  Program program;
  program.packing = "cpu";
  program.weights = {{"first", WeightType::kF32, {5}, 0, 20, 0},
                     {"second", WeightType::kF32, {3}, 0, 12, 0}};
  program.kv_caches = {{"cache", 2, 8, 4, DataType::kF16, 6}};
  program.recurrent_states = {{"memory", {2, 8, 4}}, {"past", {3}}};
  Method method;
  method.name = "norm";
  method.values = {{"x", DataType::kF32, {kBatch, 5}},
                   {"scale", DataType::kF32, {kPerRow}},
                   {"normed", DataType::kF32, {kBatch, 5}}};
  method.inputs = {{0, std::nullopt}, {1, 0.5}};
  method.outputs = {2};
  Node node;
  node.op = Op::kRmsNorm;
  node.inputs = {0};
  node.weights = {0};
  node.outputs = {2};
  node.attributes = {0.125f, 3.0f, 7, Activation::kGeluTanh, 2, 5, 11};
  method.nodes = {node};
  program.methods = {method};
  program.constants = {
      {"get_max_seq_len", {64}},       {"get_vocab_size", {9}}, {"get_min_prefill_chunk", {2}},
      {"get_max_prefill_chunk", {16}}, {"get_n_layers", {1}},   {"get_bos_id", {-1}},
      {"get_eos_ids", {1, 8}},         {"use_kv_cache", {1}},   {"use_sampling", {0}}};
  program.provenance = {{"source", "nowhere"}, {"format", ""}};
  program.chat_template = "line one\nline two";
  program.thoughts = {"<think>", "</think>", "header", true};
  return program;
}

TEST(ProgramFile, EveryFieldComesBack) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.gumbel";
  const std::vector<std::byte> tokenizer = sequence(1000, 3);
  Program program = two_vectors();
  program.tokenizer = tokenizer;
  const std::vector<std::byte> first = sequence(20, 100);
  const std::vector<std::byte> second = sequence(12, 200);
  ProgramWriter writer(path, program);
  writer.append(std::span(first).first(7));  // in pieces
  writer.append(std::span(first).subspan(7));
  writer.append(second);
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.finish();

  const ProgramFile file(path);
  const Program& read = file.program();
  EXPECT_EQ(read.packing, program.packing);
  EXPECT_EQ(read.weights, writer.program().weights);
  EXPECT_EQ(read.kv_caches, program.kv_caches);
  EXPECT_EQ(read.recurrent_states, program.recurrent_states);
  EXPECT_EQ(read.methods, program.methods);
  EXPECT_EQ(read.constants, program.constants);
  EXPECT_EQ(read.provenance, program.provenance);
  EXPECT_EQ(read.chat_template, program.chat_template);
  EXPECT_EQ(read.thoughts, program.thoughts);
  EXPECT_TRUE(
      std::equal(read.tokenizer.begin(), read.tokenizer.end(), tokenizer.begin(), tokenizer.end()));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(read.tokenizer.data()) % 64, 0u);

  const std::string raw = read_file(path);
  EXPECT_EQ(file.file_bytes(), raw.size());
  EXPECT_EQ(read.weights[0].offset % kSegmentAlignment, 0u);
  EXPECT_EQ(read.weights[1].offset, read.weights[0].offset + kSegmentAlignment);
  EXPECT_EQ(std::memcmp(raw.data() + read.weights[0].offset, first.data(), 20), 0);
  EXPECT_EQ(std::memcmp(raw.data() + read.weights[1].offset, second.data(), 12), 0);
  EXPECT_EQ(read.weights[1].checksum, XXH3_64bits(second.data(), 12));
  EXPECT_EQ(std::memcmp(file.weight_bytes(1).data(), second.data(), 12), 0);
  file.check_weights();
}

TEST(ProgramFile, AWeightThatChangedIsNamed) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.gumbel";
  const auto backend = make_reference_backend();
  const Program program = test::write_tiny_program(path, {}, *backend);
  std::string raw = read_file(path);
  const WeightInfo& changed = program.weights[4];
  raw[changed.offset + changed.bytes - 1] ^= 1;
  const ProgramFile file(folder.write("changed", raw));
  expect_error(ErrorCode::kCorruptFile, "weight " + changed.name + ": its checksum is",
               [&] { file.check_weights(); });
}

TEST(ProgramFile, OtherFilesAndVersionsAreTold) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.gumbel";
  const auto backend = make_reference_backend();
  test::write_tiny_program(path, {}, *backend);
  const std::string raw = read_file(path);

  std::string newer = raw;
  newer[7] = 2;
  const auto newer_path = folder.write("newer", newer);
  expect_error(ErrorCode::kUnsupported, "newer: expected version 1 of the program format, got 2",
               [&] { ProgramFile{newer_path}; });
  for (const std::string& other : {std::string(), std::string("GUMBEL"), std::string(63, 'G'),
                                   std::string(5000, '\0'), "X" + raw.substr(1)}) {
    const auto other_path = folder.write("other", other);
    expect_error(ErrorCode::kCorruptFile, "other: expected a Gumbel program",
                 [&] { ProgramFile{other_path}; });
  }
  std::string flipped = raw;
  flipped[100] ^= 4;
  const auto flipped_path = folder.write("flipped", flipped);
  expect_error(ErrorCode::kCorruptFile, "flipped: the header's checksum is",
               [&] { ProgramFile{flipped_path}; });
  std::string reserved = raw;
  reserved[40] = 1;
  const auto reserved_path = folder.write("reserved", reserved);
  expect_error(ErrorCode::kCorruptFile, "reserved", [&] { ProgramFile{reserved_path}; });
}

TEST(ProgramWriter, HoldsItsCallerToTheSizesOfTheWeights) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "p.gumbel";
  {
    ProgramWriter writer(path, two_vectors());
    expect_error(ErrorCode::kInvalidArgument, "weight first: expected 20 bytes, got 21",
                 [&] { writer.append(sequence(21, 0)); });
    expect_error(ErrorCode::kInvalidArgument, "expected 2 complete weights, got 0",
                 [&] { writer.finish(); });
    writer.append(sequence(20, 0));
    writer.append(sequence(12, 0));
    expect_error(ErrorCode::kInvalidArgument, "after 2 complete weights",
                 [&] { writer.append(sequence(1, 0)); });
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(ProgramWriter, RefusesAProgramThatCouldNotBeRead) {
  const TemporaryFolder folder;
  Program program = two_vectors();
  program.constants["get_vocab_size"] = {int64_t{1} << 24};
  expect_error(ErrorCode::kCorruptFile, "get_vocab_size",
               [&] { ProgramWriter(folder.path() / "p.gumbel", program); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Header, ItsLengthDoesNotDependOnTheNumbersOfWeights) {
  Program program = two_vectors();
  const size_t size = encode_header(program).size();
  program.weights[0].offset = 4096;
  program.weights[0].checksum = UINT64_MAX;
  program.weights[1].offset = uint64_t{1} << 50;
  EXPECT_EQ(encode_header(program).size(), size);
}

}  // namespace
}  // namespace gumbel
