// tokenizer.json: what is understood, and what is refused.
#include "text/tokenizer_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>

#include "text/text_testing.h"

namespace gumbel {
namespace {

using nlohmann::json;

constexpr const char* kSpaceMark = "▁";

// A small file of the SentencePiece kind.
json small_document() {
  return json::parse(R"({
    "added_tokens": [{"id": 0, "content": "<s>", "special": true, "normalized": false}],
    "normalizer": {"type": "Replace", "pattern": {"String": " "}, "content": "▁"},
    "pre_tokenizer": null,
    "decoder": {"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "Fuse"}]},
    "model": {"type": "BPE", "vocab": {"<s>": 0, "▁": 1, "a": 2, "b": 3, "▁a": 4, "ab": 5},
              "merges": [["▁", "a"], ["a", "b"]]}})");
}

LoadedTokenizer load(const json& document, const std::string& config = "") {
  return LoadedTokenizer(tokenizer_from_json(document.dump(), config));
}

// What loading the small document says after `change`.
template <typename Change>
std::string error_after(const Change& change) {
  json document = small_document();
  change(document);
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  return error_of([&] { LoadedTokenizer(tokenizer_from_json(text)); });
}

TEST(TokenizerJson, MergesArePairsOrStrings) {
  json document = small_document();
  EXPECT_EQ(load(document)->encode("ab ab"), (Ids{5, 4, 3}));
  document["model"]["merges"] = {"▁ a", "a b"};
  EXPECT_EQ(load(document)->encode("ab ab"), (Ids{5, 4, 3}));
}

TEST(TokenizerJson, PrependNormalizerAddsASpaceToEveryStretch) {
  json document = small_document();
  document["normalizer"] = {
      {"type", "Sequence"},
      {"normalizers", {{{"type", "Prepend"}, {"prepend", kSpaceMark}}, document["normalizer"]}}};
  document["decoder"]["decoders"].push_back(
      {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}});
  const LoadedTokenizer loaded = load(document);
  EXPECT_EQ(loaded->encode("a"), (Ids{4}));
  EXPECT_EQ(loaded->encode(" a"), (Ids{1, 4}));
  EXPECT_EQ(loaded->encode("a<s>a", ControlTokens::kParse), (Ids{4, 0, 4}));
  EXPECT_EQ(loaded->decode(loaded->encode(" a a")), " a a");
}

TEST(TokenizerJson, MetaspaceSchemes) {
  json document = small_document();
  document["normalizer"] = nullptr;
  const auto encode = [&](const char* scheme, bool split, const char* text) {
    document["pre_tokenizer"] = {{"type", "Metaspace"},
                                 {"replacement", kSpaceMark},
                                 {"prepend_scheme", scheme},
                                 {"split", split}};
    return load(document)->encode(text, ControlTokens::kParse);
  };
  EXPECT_EQ(encode("always", true, "a<s>a"), (Ids{4, 0, 4}));
  EXPECT_EQ(encode("first", true, "a<s>a"), (Ids{4, 0, 2}));
  EXPECT_EQ(encode("never", true, "a<s>a"), (Ids{2, 0, 2}));
  EXPECT_EQ(encode("always", true, " a"), (Ids{4}));
  // Merges reach across words only where nothing splits.
  document["model"]["vocab"]["b▁"] = 6;
  document["model"]["merges"].insert(document["model"]["merges"].begin(), json{"b", "▁"});
  EXPECT_EQ(encode("never", true, "b a"), (Ids{3, 4}));
  EXPECT_EQ(encode("never", false, "b a"), (Ids{6, 2}));
}

TEST(TokenizerJson, ByteLevelMayAddASpaceAndUseItsOwnPattern) {
  json document = json::parse(json_text("qwen"));
  const Ids with_space = load(document)->encode(" hello");
  document["pre_tokenizer"] = {
      {"type", "ByteLevel"}, {"add_prefix_space", true}, {"use_regex", true}};
  const LoadedTokenizer loaded = load(document);
  EXPECT_EQ(loaded->encode("hello"), with_space);
  EXPECT_EQ(loaded->encode(" hello"), with_space);
}

TEST(TokenizerJson, NormalizedTokensAreFoundAfterNormalization) {
  json document = json::parse(json_text("qwen"));
  document["added_tokens"].push_back(
      {{"id", 2003}, {"content", "éé"}, {"special", false}, {"normalized", true}});
  document["added_tokens"].push_back(
      {{"id", 2004}, {"content", "öö"}, {"special", false}, {"normalized", false}});
  const LoadedTokenizer loaded = load(document);
  EXPECT_EQ(loaded->encode("e\u0301é"), (Ids{2003}));
  EXPECT_EQ(loaded->encode("öö"), (Ids{2004}));
  EXPECT_NE(loaded->encode("o\u0308ö"), (Ids{2004}));
}

TEST(TokenizerJson, PostProcessorAndConfigNameBosAndEos) {
  json document = small_document();
  EXPECT_EQ(load(document)->encode_prompt("a"), (Ids{2}));
  const std::string config =
      R"({"bos_token": {"content": "<s>"}, "eos_token": "b", "add_bos_token": true})";
  EXPECT_EQ(load(document, config)->encode_prompt("a"), (Ids{0, 2}));
  EXPECT_EQ(load(document, config)->end_ids(), (Ids{3}));
  document["post_processor"] = json::parse(
      R"({"type": "Sequence", "processors": [{"type": "ByteLevel"}, {"type": "TemplateProcessing",
          "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}]}]})");
  EXPECT_EQ(load(document)->encode_prompt("a"), (Ids{0, 2}));
  EXPECT_EQ(load(document)->bos_id(), 0);
}

TEST(TokenizerJson, IdsMayHaveHoles) {
  json document = small_document();
  document["model"]["vocab"]["z"] = 9;
  const LoadedTokenizer loaded = load(document);
  EXPECT_EQ(loaded->vocab_size(), 10);
  EXPECT_EQ(loaded->encode("z"), (Ids{9}));
  EXPECT_EQ(loaded->decode(Ids{7}), "");
}

TEST(TokenizerJson, RefusesByName) {
  const auto expect_named = [](const char* name, auto change) {
    const std::string error = error_after(change);
    EXPECT_NE(error.find(name), std::string::npos) << name << ": " << error;
  };
  expect_named("Unigram", [](json& d) { d["model"]["type"] = "Unigram"; });
  expect_named("dropout", [](json& d) { d["model"]["dropout"] = 0.1; });
  expect_named("continuing_subword_prefix",
               [](json& d) { d["model"]["continuing_subword_prefix"] = "##"; });
  expect_named("end_of_word_suffix", [](json& d) { d["model"]["end_of_word_suffix"] = "</w>"; });
  expect_named("NFKC", [](json& d) { d["normalizer"] = {{"type", "NFKC"}}; });
  expect_named("Replace", [](json& d) { d["normalizer"]["content"] = "_"; });
  expect_named("Whitespace", [](json& d) { d["pre_tokenizer"] = {{"type", "Whitespace"}}; });
  expect_named("neither ByteLevel", [](json& d) { d["normalizer"] = nullptr; });
  expect_named("WordPiece", [](json& d) { d["decoder"] = {{"type", "WordPiece"}}; });
  expect_named("decoder", [](json& d) { d["decoder"] = nullptr; });
  expect_named("single_word", [](json& d) { d["added_tokens"][0]["single_word"] = true; });
  expect_named("BertProcessing",
               [](json& d) { d["post_processor"] = {{"type", "BertProcessing"}}; });
  const auto with_pattern = [](const char* regex, const char* behavior) {
    return [=](json& d) {
      d["pre_tokenizer"] = {
          {"type", "Split"}, {"pattern", {{"Regex", regex}}}, {"behavior", behavior}};
    };
  };
  expect_named("Sideways", with_pattern("a", "Sideways"));
  expect_named("\\h", with_pattern(R"(\h+)", "Isolated"));
  expect_named("&&", with_pattern("[a-z&&b]", "Isolated"));
  expect_named("class in a class", with_pattern("[a[b]]", "Isolated"));
  EXPECT_NE(error_after(with_pattern("(", "Isolated")), "");
  EXPECT_EQ(error_after(with_pattern(R"([^\s[:alpha:]]+)", "Isolated")), "");
}

TEST(TokenizerJson, RefusesFilesThatContradictThemselves) {
  const auto expect_refused = [](auto change) { EXPECT_NE(error_after(change), ""); };
  EXPECT_EQ(error_after([](json&) {}), "");
  expect_refused([](json& d) { d["model"] = 5; });
  expect_refused([](json& d) { d.erase("model"); });
  expect_refused([](json& d) { d["model"]["vocab"] = json::array({"a"}); });
  expect_refused([](json& d) { d["model"]["vocab"] = json::object(); });
  for (const json& id : {json(-1), json(1.5), json("2"), json(nullptr), json(1u << 30),
                         json(UINT64_MAX), json(5000)}) {
    expect_refused([&](json& d) { d["model"]["vocab"]["z"] = id; });
    expect_refused([&](json& d) { d["added_tokens"][0]["id"] = id; });
  }
  expect_refused([](json& d) { d["model"]["vocab"]["z"] = 2; });  // the id of "a"
  expect_refused([](json& d) { d["added_tokens"][0]["id"] = 1; });
  expect_refused([](json& d) { d["added_tokens"][0]["content"] = "a"; });
  expect_refused([](json& d) { d["added_tokens"][0]["content"] = 7; });
  expect_refused([](json& d) { d["added_tokens"][0]["special"] = "yes"; });
  expect_refused([](json& d) { d["added_tokens"] = "x"; });
  expect_refused([](json& d) { d["added_tokens"] = {1, 2}; });
  expect_refused([](json& d) { d["model"]["merges"] = 1; });
  for (const json& merge : {json("ab"), json("a b c"), json(1), json({"a"}), json({"a", 1}),
                            json({"a", "x"}), json({"b", "b"}), json("a  b")}) {
    expect_refused([&](json& d) { d["model"]["merges"].push_back(merge); });
  }
  expect_refused([](json& d) { d["model"]["unk_token"] = "<unk>"; });
  expect_refused([](json& d) { d["model"]["byte_fallback"] = 1; });
  expect_refused([](json& d) {
    d["post_processor"] = {{"type", "TemplateProcessing"},
                           {"single", {{{"SpecialToken", {{"id", "<x>"}}}}}}};
  });
  for (const char* text :
       {"", "{", "[]", "null", "\"x\"", "{\"model\": {}}", "\xFF", "{\"a\": 1e999999}"}) {
    EXPECT_NE(error_of([&] { tokenizer_from_json(text); }), "") << text;
  }
  EXPECT_NE(error_of([] { tokenizer_from_json(repeated("[", 100000)); }), "");
  const std::string small = small_document().dump();
  EXPECT_NE(error_of([&] { tokenizer_from_json(small, "{"); }), "");
  EXPECT_NE(error_of([&] { tokenizer_from_json(small, R"({"bos_token": "<none>"})"); }), "");
  EXPECT_NE(error_of([&] { tokenizer_from_json(small, R"({"bos_token": 5})"); }), "");
}

// Only gumbel::Error may come out of a damaged file.
TEST(TokenizerJson, DamagedFilesAreRefusedOrRead) {
  const std::string text = small_document().dump();
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 1 + round % 3; ++i) {
      constexpr std::string_view kBytes = "{}[]\",:0129-eE\\ntf\xFF ";
      damaged[random() % damaged.size()] = kBytes[random() % kBytes.size()];
    }
    if (round % 4 == 0) damaged.resize(random() % damaged.size());
    error_of([&] { LoadedTokenizer(tokenizer_from_json(damaged))->encode("ab a"); });
  }
}

}  // namespace
}  // namespace gumbel
