// bench, eval, tokenize, selftest and inspect: what scripts read from them.
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/precision.h"
#include "cli/program.h"
#include "export/huggingface/safetensors_file.h"

namespace gumbel::test {
namespace {

using nlohmann::json;
using Report = CliTest;

json object(const Result& result) {
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_EQ(count_lines(result.out), 1u) << result.out;
  const json value = json::parse(result.out, nullptr, /*allow_exceptions=*/false);
  EXPECT_TRUE(value.is_object()) << result.out;
  return value;
}

std::set<std::string> keys(const json& object) {
  std::set<std::string> names;
  for (const auto& [key, value] : object.items()) names.insert(key);
  return names;
}

// The last line of a text that ends with a line end.
std::string last_line(const std::string& text) {
  if (text.size() < 2) return text;
  const size_t before = text.rfind('\n', text.size() - 2);
  return text.substr(before == std::string::npos ? 0 : before + 1);
}

TEST_F(Report, BenchPrintsItsFigures) {
  const json figures = object(gumbel("bench chat.gumbel -p 40 -n 5 --repetitions 3 --json"));
  std::set<std::string> expected;
  for (const std::string name : {"prefill_tokens_per_s", "decode_tokens_per_s",
                                 "sampling_ms_per_token", "load_ms", "peak_rss_mib"}) {
    expected.insert({name, name + "_min", name + "_max"});
    ASSERT_TRUE(figures.contains(name)) << name;
    EXPECT_GT(figures[name].get<double>(), 0) << name;
    EXPECT_LE(figures[name + "_min"], figures[name]) << name;
    EXPECT_LE(figures[name], figures[name + "_max"]) << name;
  }
  EXPECT_EQ(keys(figures), expected);
  const Result text = gumbel("bench logits.gumbel -p 3 -n 2 --repetitions 1 --threads 1");
  EXPECT_EQ(text.status, 0);
  EXPECT_EQ(count_lines(text.out), 5u) << text.out;
  object(gumbel("bench logits.gumbel -p 3 -n 2 --repetitions 2 --host-sampling --top-k 4 --json"));
}

TEST_F(Report, EvalComparesWholeLogits) {
  const std::string command = "eval logits.gumbel --answers " +
                              quoted((checkpoint_path("qwen3") / "answers.safetensors").string());
  const json found = object(gumbel(command + " --json"));
  EXPECT_EQ(keys(found),
            (std::set<std::string>{"max_abs_diff", "greedy_equal", "full_kl", "logits_hash"}));
  for (const json& kl : found["full_kl"]) {
    EXPECT_GE(kl.get<double>(), -1e-12);
    EXPECT_LT(kl.get<double>(), 1e-6);
  }
  EXPECT_LT(found["max_abs_diff"].get<double>(), 1e-3);
  EXPECT_GT(found["max_abs_diff"].get<double>(), 0);
  EXPECT_EQ(found["greedy_equal"], true);
  EXPECT_EQ(found["logits_hash"].get<std::string>().size(), 16u);
  for (const char* options :
       {" --chunk 1", " --chunk 7", " --chunk 100000", " --threads 2", " --backend reference"})
    EXPECT_EQ(object(gumbel(command + options + " --json")), found) << options;
  // Another model is far off; that is a result, not an error.
  ASSERT_EQ(
      gumbel("export " + quoted(checkpoint_path("llama").string()) + " -o llama.gumbel").status, 0);
  const json other =
      object(gumbel("eval llama.gumbel --json --answers " +
                    quoted((checkpoint_path("qwen3") / "answers.safetensors").string())));
  EXPECT_GT(other["max_abs_diff"].get<double>(), 0.1);
  EXPECT_EQ(other["greedy_equal"], false);
  ASSERT_EQ(other["full_kl"].size(), found["full_kl"].size());
  EXPECT_GT(other["full_kl"][0].get<double>(), 0.01);
  EXPECT_NE(other["logits_hash"], found["logits_hash"]);
}

// Answers of the second kind, made from the whole logits of text 3 of the stored answers.
void write_list_answers(const std::filesystem::path& path, const std::vector<int64_t>& tokens) {
  const SafetensorsFile stored(checkpoint_path("qwen3") / "answers.safetensors");
  const std::vector<float> logits = stored.read_f32("3.logits");
  std::vector<int64_t> ids;
  std::vector<float> logprobs;
  for (size_t position = 0; position < tokens.size(); ++position) {
    const float* row = logits.data() + position * kTinyVocab;
    std::vector<int64_t> order(kTinyVocab);
    double sum = 0;
    for (int64_t i = 0; i < kTinyVocab; ++i) {
      order[static_cast<size_t>(i)] = i;
      sum += std::exp(static_cast<double>(row[i]));
    }
    std::sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return row[a] > row[b]; });
    for (size_t i = 0; i < 32; ++i) {
      ids.push_back(order[i]);
      logprobs.push_back(static_cast<float>(static_cast<double>(row[order[i]]) - std::log(sum)));
    }
  }
  const std::vector<float> nll(tokens.size() - 1);
  std::string data;
  json header;
  const auto add = [&](const std::string& name, const char* type, std::vector<size_t> shape,
                       const void* bytes, size_t size) {
    header[name] = {
        {"dtype", type}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + size}}};
    data.append(static_cast<const char*>(bytes), size);
  };
  add("0.tokens", "I64", {tokens.size()}, tokens.data(), tokens.size() * 8);
  add("0.top_ids", "I64", {tokens.size(), 32}, ids.data(), ids.size() * 8);
  add("0.top_logprobs", "F32", {tokens.size(), 32}, logprobs.data(), logprobs.size() * 4);
  add("0.nll", "F32", {nll.size()}, nll.data(), nll.size() * 4);
  const std::string text = header.dump();
  const uint64_t length = text.size();
  std::ofstream(path, std::ios::binary)
      << std::string(reinterpret_cast<const char*>(&length), 8) << text << data;
}

TEST_F(Report, EvalComparesTheBestTokens) {
  const SafetensorsFile stored(checkpoint_path("qwen3") / "answers.safetensors");
  std::vector<int64_t> tokens = stored.read_i64("3.tokens");
  write_list_answers(folder() / "lists.safetensors", tokens);
  const json found = object(gumbel("eval logits.gumbel --answers lists.safetensors --json"));
  EXPECT_EQ(keys(found),
            (std::set<std::string>{"mean_kl", "agreement", "perplexity", "logits_hash"}));
  ASSERT_EQ(found["mean_kl"].size(), 1u);
  EXPECT_LT(std::abs(found["mean_kl"][0].get<double>()), 1e-5);
  EXPECT_EQ(found["agreement"], json::array({1.0}));
  EXPECT_GT(found["perplexity"][0].get<double>(), 1);
  // A token that is none, met before it is fed.
  for (const int64_t wrong : {kTinyVocab, int64_t{-1}, int64_t{1} << 40}) {
    tokens[8] = wrong;
    write_list_answers(folder() / "wrong.safetensors", tokens);
    expect_refusal(gumbel("eval logits.gumbel --answers wrong.safetensors --json --chunk 8"), 1,
                   "token ids from 0 to 319");
  }
}

TEST_F(Report, TokenizePrintsAndChecksIds) {
  EXPECT_EQ(gumbel("tokenize chat.gumbel --text 'hello<|im_end|>'").out,
            "259 60 124 105 109 95 101 110 100 124 62\n");
  EXPECT_EQ(gumbel("tokenize chat.gumbel --text ''").out, "\n");
  for (const char* source : {"qwen3-chat", "qwen3-chat/tokenizer.json", "text.gumbel"})
    EXPECT_EQ(gumbel(std::string("tokenize ") + source + " --text 'hello us'").out,
              gumbel("tokenize chat.gumbel --text 'hello us'").out)
        << source;
  const auto data = data_path("tokenizers/qwen");
  const std::string command =
      "tokenize " + quoted((data / "tokenizer.json").string()) + " --check ";
  const Result equal = gumbel(command + quoted((data / "answers.jsonl").string()));
  EXPECT_EQ(equal.status, 0);
  EXPECT_NE(equal.out.find(" lines equal\n"), std::string::npos);

  files().write("answers.jsonl",
                "{\"text\":\"hello\",\"ids\":[259]}\n{\"text\":\"us\",\"ids\":[117,115]}\n"
                "{\"text\":\"us\",\"ids\":[1]}\n");
  const Result different = gumbel("tokenize chat.gumbel --check answers.jsonl");
  EXPECT_EQ(different.status, 1);
  EXPECT_EQ(different.err, "");
  EXPECT_NE(different.out.find("1 of 3 lines equal\n"), std::string::npos) << different.out;
  EXPECT_NE(last_line(different.out).find("2"), std::string::npos) << different.out;
}

TEST_F(Report, TokenizeWritesConversationsDown) {
  files().write(
      "messages.json",
      R"([{"role": "system", "content": ""}, {"role": "user", "content": "ok<|im_end|>"}])");
  const Engine engine(folder() / "chat.gumbel", kOneThread);
  const std::vector<Message> messages = {{"system", ""}, {"user", "ok<|im_end|>"}};
  const std::vector<int64_t> ids = engine.encode_chat(messages);
  for (const char* source : {"chat.gumbel", "qwen3-chat"})
    EXPECT_EQ(gumbel(std::string("tokenize ") + source + " --chat messages.json").out,
              fmt::format("{}\n", fmt::join(ids, " ")));
  const std::string pieces = gumbel("tokenize chat.gumbel --chat messages.json --pieces").out;
  EXPECT_EQ(std::count(pieces.begin(), pieces.end(), '\n'), static_cast<int>(ids.size()));
  EXPECT_TRUE(pieces.starts_with("    262 '<|im_start|>'\n")) << pieces;
  expect_refusal(gumbel("tokenize text.gumbel --chat messages.json"), 1, "with a chat template");
  expect_refusal(gumbel("tokenize chat.gumbel --chat messages.json --thinking on"), 1,
                 "has no thinking");
  expect_refusal(gumbel("tokenize chat.gumbel --text x --thinking on"), 2, "--chat");
  for (const char* wrong :
       {"", "{}", "[1]", "[{}]", R"([{"role": "user"}])", R"([{"role": 1, "content": ""}])",
        R"([{"role": "user", "content": []}])", R"([{"role": "tool", "content": ""}])", "[",
        "nul"}) {
    files().write("wrong.json", wrong);
    const Result refused = gumbel("tokenize chat.gumbel --chat wrong.json");
    EXPECT_EQ(refused.status, 1) << wrong;
    EXPECT_EQ(refused.out, "") << wrong;
  }
}

TEST_F(Report, InspectPrintsTheChatTemplate) {
  EXPECT_EQ(gumbel("inspect chat.gumbel --chat-template").out,
            read_file(folder() / "qwen3-chat" / "chat_template.jinja"));
  EXPECT_EQ(gumbel("inspect text.gumbel --chat-template").out, "");
}

TEST_F(Report, TemplatesThatCannotBeUsedAreLeftOut) {
  const auto source = write_tiny_folder(folder() / "odd", "qwen3", /*chat=*/true);
  for (const auto& [text, why] : {std::pair{"{% if %}", "line 1: expected a value"},
                                  {"\n{% include 'x' %}", "line 2: 'include' is no statement"},
                                  {"{{ raise_exception('No chat.') }}", "line 1: No chat."}}) {
    std::ofstream(source / "chat_template.jinja") << text;
    const Result result = gumbel("export odd/qwen3-chat -o odd.gumbel --sample");
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.out.find(why), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("no chat template: programs complete raw text"), std::string::npos);
  }
}

TEST_F(Report, SelftestSaysWhetherTheDrawsAreRight) {
  EXPECT_EQ(gumbel("selftest").status, 0);
  json vectors = json::parse(read_file(data_path("sampling/vectors.json")));
  json& cases = vectors["cases"];
  cases.erase(cases.begin() + 60, cases.end());
  files().write("vectors.json", vectors.dump());
  const Result equal = gumbel("selftest --vectors vectors.json");
  EXPECT_EQ(equal.status, 0) << equal.out << equal.err;
  EXPECT_EQ(equal.out, "60 stored answers equal\n");
  EXPECT_EQ(gumbel("selftest --vectors vectors.json --backend reference").out, equal.out);
  cases[41]["token"] = cases[41]["token"].get<int64_t>() + 1;
  files().write("vectors.json", vectors.dump());
  const Result different = gumbel("selftest --vectors vectors.json");
  EXPECT_EQ(different.status, 1);
  EXPECT_EQ(different.err, "");
  EXPECT_NE(last_line(different.out).find("case 41: token: expected"), std::string::npos)
      << different.out;
}

TEST_F(Report, InspectSaysWhatAProgramHolds) {
  const Result plain = gumbel("inspect chat.gumbel");
  EXPECT_EQ(plain.status, 0);
  for (const char* part :
       {"get_max_seq_len: 256\n", "get_eos_ids: 263\n", "use_sampling: 1\n",
        "forward(tokens i64 [B, T], input_pos i64 [B, T], temperature f32 [1 or B], ",
        "prefill(tokens i64 [B, T], input_pos i64 [B, T]) -> nothing", "architecture: qwen3\n",
        "packed for cpu"})
    EXPECT_NE(plain.out.find(part), std::string::npos) << part << " in\n" << plain.out;
  const Result logits = gumbel("inspect logits.gumbel --graph --weights --check");
  EXPECT_EQ(logits.status, 0);
  for (const char* part :
       {"forward_all(", "linear(", "model.embed_tokens.weight", "checksums: all"})
    EXPECT_NE(logits.out.find(part), std::string::npos) << part;

  // One byte of the last weight: only --check reads it.
  std::string bytes = read_file(folder() / "chat.gumbel");
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  files().write("damaged.gumbel", bytes);
  EXPECT_EQ(gumbel("inspect damaged.gumbel").status, 0);
  const Result damaged = gumbel("inspect damaged.gumbel --check");
  EXPECT_EQ(damaged.status, 1);
  EXPECT_EQ(count_lines(damaged.err), 1u);
  EXPECT_NE(damaged.err.find("checksum"), std::string::npos) << damaged.err;
}

// Heads of 40 columns altogether: 32 divides the width of the MLP's last projection alone.
TEST_F(Report, MatricesThatKeepTheirPrecisionAreCounted) {
  const auto write = [&](int layers) {
    files().write("odd.json", R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama",
        "hidden_size": 40, "intermediate_size": 64, "num_attention_heads": 5,
        "num_key_value_heads": 5, "head_dim": 8, "vocab_size": 70, "rms_norm_eps": 1e-5,
        "max_position_embeddings": 256, "rope_theta": 10000.0, "hidden_act": "silu",
        "tie_word_embeddings": true, "num_hidden_layers": )" +
                                  std::to_string(layers) + "}");
  };
  const std::string kept = "the source's precision, as 32 does not divide their width";
  write(1);
  const Result exported = gumbel("export random:odd.json -o odd.gumbel --quantize q4");
  EXPECT_NE(exported.out.find("7 matrices keep " + kept + "\n"), std::string::npos) << exported.out;
  EXPECT_NE(gumbel("inspect odd.gumbel").out.find("7 matrices keep " + kept + "\n"),
            std::string::npos);
  EXPECT_EQ(gumbel("export random:odd.json -o odd.gumbel").out.find(kept), std::string::npos);
  EXPECT_EQ(gumbel("inspect odd.gumbel").out.find(kept), std::string::npos);
}

TEST(KeptPrecision, NamesAFewMatrices) {
  Program program;
  EXPECT_EQ(cli::kept_precision(program), "");
  program.weights.resize(3);
  program.weights[0] = {"even", WeightType::kQ8_0, {8, 64}};
  program.weights[1] = {"vector", WeightType::kF32, {33}};
  program.weights[2] = {"odd", WeightType::kBF16, {8, 40}};
  program.provenance["quantize"] = "q8";
  EXPECT_EQ(cli::kept_precision(program),
            "1 matrix keeps the source's precision, as 32 does not divide its width: odd");
  program.weights.push_back({"experts", WeightType::kBF16, {4, 8, 40}});
  EXPECT_EQ(cli::kept_precision(program),
            "2 matrices keep the source's precision, as 32 does not divide their width: odd, "
            "experts");
  program.provenance["quantize"] = "none";
  EXPECT_EQ(cli::kept_precision(program), "");
}

TEST_F(Report, ExportOptions) {
  ASSERT_EQ(gumbel("export qwen3-chat -o small.gumbel --max-seq-len 48 --kv f16 --quantize q8 "
                   "--sample")
                .status,
            0);
  const std::string inspected = gumbel("inspect small.gumbel").out;
  EXPECT_NE(inspected.find("get_max_seq_len: 48\n"), std::string::npos);
  EXPECT_NE(inspected.find("get_max_prefill_chunk: 48\n"), std::string::npos);
  EXPECT_NE(inspected.find("q8_0: "), std::string::npos);
  EXPECT_NE(inspected.find("quantize: q8\n"), std::string::npos);
  EXPECT_EQ(inspected.find("source's precision"), std::string::npos);
  EXPECT_EQ(gumbel("export qwen3-chat -o q4.gumbel --quantize q4").status, 0);
  const std::string random = "random:" + (checkpoint_path("gemma3") / "config.json").string();
  const Result exported = gumbel("export " + quoted(random) + " -o random.gumbel --sample");
  EXPECT_EQ(exported.status, 0);
  EXPECT_NE(exported.out.find("no tokenizer: programs take and give token ids alone"),
            std::string::npos);
  EXPECT_EQ(gumbel("bench random.gumbel -p 5 -n 5 --repetitions 1").status, 0);
  expect_refusal(gumbel("run random.gumbel --prompt x"), 1, "tokenizer");
}

}  // namespace
}  // namespace gumbel::test
