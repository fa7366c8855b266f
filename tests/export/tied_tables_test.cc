// An LM head that is stored beside the embedding table, or instead of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "backends/reference/reference_backend.h"
#include "export/export.h"
#include "export/gguf/tiny_gguf.h"
#include "export/huggingface/strict_json.h"
#include "export/test_files.h"

namespace gumbel {
namespace {

using nlohmann::json;
using test::TemporaryFolder;

constexpr const char* kTable = "model.embed_tokens.weight";
constexpr const char* kHead = "lm_head.weight";

// The golden qwen3, whose head is tied, with other tables and another word on whether it is.
// `change` gets the header of the tensors and their data.
ImportedModel qwen3_with(const TemporaryFolder& folder, bool tied,
                         const std::function<void(json&, std::string&)>& change) {
  const auto source = test::data_path("models/qwen3");
  json config = read_strict_json(source / "config.json");
  config["tie_word_embeddings"] = tied;
  const std::string stored = test::read_file(source / "model.safetensors");
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, stored.data(), 8);
  json header = json::parse(stored.substr(8, header_bytes));
  std::string data = stored.substr(8 + header_bytes);
  change(header, data);
  const std::string text = header.dump();
  folder.write("config.json", config.dump());
  folder.write("model.safetensors", test::encode<uint64_t>(text.size()) + text + data);
  return import_model(folder.path().string());
}

// Stores the head as a copy of the table, of which byte `changed` differs where it is not negative.
void add_head(json& header, std::string& data, int64_t changed) {
  json head = header.at(kTable);
  const size_t begin = head["data_offsets"][0];
  const size_t end = head["data_offsets"][1];
  head["data_offsets"] = {data.size(), data.size() + end - begin};
  std::string table = data.substr(begin, end - begin);
  if (changed >= 0) table.at(static_cast<size_t>(changed)) ^= 1;
  data += table;
  header[kHead] = head;
}

Program program_of(const TemporaryFolder& folder, const ImportedModel& model) {
  return export_program(model, {}, *make_reference_backend(), folder.path() / "m.gumbel");
}

void expect_equal_programs(const Program& a, const Program& b) {
  EXPECT_EQ(a.methods, b.methods);
  EXPECT_EQ(a.weights, b.weights);  // names, shapes and checksums
}

TEST(TiedTables, EqualTablesAreOne) {
  const TemporaryFolder folder;
  const Program plain = program_of(folder, import_model(test::data_path("models/qwen3").string()));
  for (const bool tied : {true, false}) {
    const ImportedModel model = qwen3_with(
        folder, tied, [](json& header, std::string& data) { add_head(header, data, -1); });
    EXPECT_TRUE(model.config.tied_embeddings);
    EXPECT_TRUE(model.notes.empty());
    expect_equal_programs(program_of(folder, model), plain);
  }
}

// One bit anywhere makes them two.
TEST(TiedTables, OtherTablesAreTwoWhateverTheConfigurationSays) {
  const TemporaryFolder folder;
  for (const int64_t changed : {0, 320 * 64 * 2 - 1}) {
    const auto change = [&](json& header, std::string& data) { add_head(header, data, changed); };
    const ImportedModel untied = qwen3_with(folder, false, change);
    EXPECT_FALSE(untied.config.tied_embeddings);
    EXPECT_TRUE(untied.notes.empty());
    const Program program = program_of(folder, untied);
    const ImportedModel tied = qwen3_with(folder, true, change);
    EXPECT_FALSE(tied.config.tied_embeddings);
    EXPECT_EQ(tied.notes,
              std::vector<std::string>{"the LM head is lm_head.weight, which differs from the "
                                       "embedding table that the configuration ties it to"});
    expect_equal_programs(program_of(folder, tied), program);
    EXPECT_EQ(std::count_if(program.weights.begin(), program.weights.end(),
                            [](const WeightInfo& weight) { return weight.name == kHead; }),
              1);
  }
}

TEST(TiedTables, ATiedHeadIsTheTableWhereItAloneIsStored) {
  const TemporaryFolder folder;
  const auto rename = [](json& header, std::string&) {
    header[kHead] = header.at(kTable);
    header.erase(kTable);
  };
  const Program plain = program_of(folder, import_model(test::data_path("models/qwen3").string()));
  expect_equal_programs(program_of(folder, qwen3_with(folder, true, rename)), plain);
  const ImportedModel untied = qwen3_with(folder, false, rename);
  test::expect_error(ErrorCode::kNotFound, "tensor 'model.embed_tokens.weight' is missing",
                     [&] { program_of(folder, untied); });
}

TEST(TiedTables, AHeadOfAnotherShapeIsNamed) {
  const TemporaryFolder folder;
  test::expect_error(ErrorCode::kCorruptFile,
                     "tensor 'lm_head.weight': expected shape [320, 64], got [64, 320]", [&] {
                       qwen3_with(folder, true, [](json& header, std::string& data) {
                         add_head(header, data, -1);
                         header[kHead]["shape"] = {64, 320};
                       });
                     });
}

TEST(TiedTables, OfQuantizedBlocks) {
  const TemporaryFolder folder;
  const auto is_tied = [&](const std::string& head) {
    test::GgufWriter writer = test::tiny_llama();
    writer.add_tensor("output.weight", {32, 8}, 2, head);
    return import_model(folder.write("m.gguf", writer.bytes()).string()).config.tied_embeddings;
  };
  std::string head = test::tiny_q4_0_rows(8);
  EXPECT_TRUE(is_tied(head));
  head.back() ^= 1;
  EXPECT_FALSE(is_tied(head));
}

}  // namespace
}  // namespace gumbel
