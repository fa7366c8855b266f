// Models that are not programs: exported into the cache, or fetched first.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/file_lock.h"
#include "cli/program.h"
#include "export/gguf/tiny_gguf.h"
#include "hub/local_hub.h"

namespace gumbel::test {
namespace {

using nlohmann::json;

// A tiny GGUF model, and an empty cache.
class ModelSource : public CliTest {
 protected:
  static std::string tiny_gguf() {
    return tiny_llama_with_tokenizer({"<|b|>", "<|e|>", "a", "b", "ab", "c", "d", "e"}, "").bytes();
  }
  void SetUp() override {
    std::filesystem::remove_all(cache_of(folder()));
    files().write("tiny.gguf", tiny_gguf());
  }

  static json listed() {
    const Result result = gumbel("cache list --json");
    EXPECT_EQ(result.status, 0) << result.err;
    return json::parse(result.out);
  }
  // Files of the cache, without its locks.
  static std::string cache_files() {
    return shell(cache_of(folder()) / "models",
                 "find . -type f ! -name '*.lock' | sed 's/[0-9a-f]\\{16\\}/KEY/g' | sort")
        .out;
  }
  static void expect_first_run(const Result& result, const std::string& model) {
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, fmt::format("{}: exporting into the cache\n"
                                      "the model has no chat template: completing the text as it "
                                      "is\n",
                                      model));
  }
};

const std::string kRest = " --prompt ab --seed 7 --max-new-tokens 8";

TEST_F(ModelSource, AGgufFileIsExportedOnce) {
  EXPECT_EQ(gumbel("export tiny.gguf -o tiny.gumbel --sample").status, 0);
  const Result program = gumbel("run tiny.gumbel" + kRest);
  const Result first = gumbel("run tiny.gguf" + kRest);
  expect_first_run(first, "tiny.gguf");
  EXPECT_EQ(first.out, program.out);
  EXPECT_EQ(cache_files(), "./KEY.json\n./KEY/program.gumbel\n");
  const Result second = gumbel("run tiny.gguf" + kRest);
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(second.err, program.err);

  // Other contents under the same name, and the same contents elsewhere.
  files().write(
      "tiny.gguf",
      tiny_llama_with_tokenizer({"<|b|>", "<|e|>", "a", "b", "ab", "c", "d", "f"}, "").bytes());
  EXPECT_NE(gumbel("run tiny.gguf" + kRest).err, program.err);
  EXPECT_EQ(listed().size(), 2u);
  std::filesystem::create_directory(folder() / "elsewhere");
  files().write("elsewhere/tiny.gguf", tiny_gguf());
  EXPECT_EQ(gumbel("run elsewhere/tiny.gguf" + kRest).err, program.err);
  EXPECT_EQ(listed().size(), 2u);
}

TEST_F(ModelSource, AFolderAnswersAsItsProgramDoes) {
  const std::string rest = " --prompt hello --seed 3 --max-new-tokens 20";
  const Result first = gumbel("run qwen3-chat" + rest);
  EXPECT_EQ(first.status, 0);
  EXPECT_EQ(first.err, "qwen3-chat: exporting into the cache\n");
  EXPECT_EQ(first.out, gumbel("run chat.gumbel" + rest).out);
  EXPECT_EQ(gumbel("run qwen3-chat/" + rest).err, "");
}

TEST_F(ModelSource, SettingsHaveProgramsOfTheirOwn) {
  for (const char* command :
       {"run tiny.gguf --prompt ab", "run tiny.gguf --prompt ab --quantize q8",
        "run tiny.gguf --prompt ab --max-seq-len 32", "run tiny.gguf --prompt ab --kv f32",
        "run tiny.gguf --prompt ab --host-sampling"})
    expect_first_run(gumbel(std::string(command) + " --temperature 0 --max-new-tokens 3"),
                     "tiny.gguf");
  EXPECT_EQ(listed().size(), 5u);
  // The others take models as well, and share what runs have exported.
  EXPECT_EQ(gumbel("bench tiny.gguf -p 2 -n 2 --repetitions 1 --json").err, "");
  EXPECT_EQ(gumbel("inspect tiny.gguf --check").err, "");
  expect_refusal(gumbel("eval tiny.gguf --answers qwen3-chat/model.safetensors"), 1, "0.tokens");
  EXPECT_EQ(listed().size(), 5u);
  std::string settings;
  const json entries = listed();
  for (const json& entry : entries) settings += entry.at("settings").get<std::string>() + "; ";
  for (const char* part : {"returns tokens; ", "returns logits; ", "returns tokens, q8; ",
                           "returns tokens, context 32; ", "returns tokens, kv f32; "})
    EXPECT_NE(settings.find(part), std::string::npos) << part << " in " << settings;
  expect_refusal(gumbel("run chat.gumbel --prompt x --quantize q8"), 1,
                 "--quantize: expected a model to export, got the program chat.gumbel");
  expect_refusal(gumbel("bench chat.gumbel --kv f32"), 1, "--kv: expected a model");
}

TEST_F(ModelSource, AnotherBuildExportsAnew) {
  const Result first = gumbel("run tiny.gguf" + kRest);
  const std::string key = listed().at(0).at("key");
  EXPECT_EQ(shell(folder(), "cp " + quoted(GUMBEL_PROGRAM) + " other && echo >>other").status, 0);
  {
    const FileLock used =
        FileLock::take(cache_of(folder()) / "models" / (key + ".lock"), FileLock::Kind::kShared);
    EXPECT_EQ(shell(folder(), "./other inspect tiny.gguf").err,
              "tiny.gguf: exporting into the cache\n");
    EXPECT_EQ(listed().size(), 2u) << "what a process uses is kept";
  }
  EXPECT_EQ(gumbel("cache clear").status, 0);
  EXPECT_EQ(gumbel("run tiny.gguf" + kRest).out, first.out);
  EXPECT_EQ(shell(folder(), "./other inspect tiny.gguf").status, 0);
  ASSERT_EQ(listed().size(), 1u);
  EXPECT_NE(listed().at(0).at("key"), key);
  EXPECT_EQ(shell(folder(), "./other inspect tiny.gguf").err, "");
}

TEST_F(ModelSource, TwoProcessesAtOnceExportOnce) {
  const std::string run = "gumbel run tiny.gguf" + kRest;
  const Result both =
      shell(folder(), "{ " + run + " >one; } & " + run + " >two; wait; cmp one two");
  EXPECT_EQ(both.status, 0) << both.err;
  const std::string note = "tiny.gguf: exporting into the cache\n";
  const size_t at = both.err.find(note);
  EXPECT_NE(at, std::string::npos) << both.err;
  EXPECT_EQ(both.err.find(note, at + 1), std::string::npos) << both.err;
  EXPECT_EQ(listed().size(), 1u);
}

TEST_F(ModelSource, WhoWaitsSaysSo) {
  gumbel("run tiny.gguf" + kRest);
  const std::string key = listed().at(0).at("key");
  EXPECT_EQ(gumbel("cache clear " + key).out, key + ": deleted\n");
  FileLock lock =
      FileLock::take(cache_of(folder()) / "models" / (key + ".lock"), FileLock::Kind::kExclusive);
  Result result;
  files().write("notes", "");
  std::thread thread([&] { result = gumbel("run tiny.gguf 2>notes" + kRest); });
  const std::string note = "tiny.gguf: waiting for another process that prepares it\n";
  for (int i = 0; i < 1000 && read_file(folder() / "notes") != note; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(read_file(folder() / "notes"), note);
  lock = FileLock();
  thread.join();
  EXPECT_EQ(result.status, 0);
  const std::string notes = read_file(folder() / "notes");
  EXPECT_TRUE(notes.starts_with(note + "tiny.gguf: exporting into the cache\n")) << notes;
}

TEST_F(ModelSource, DamagedEntriesAreMadeAnew) {
  const Result first = gumbel("run tiny.gguf" + kRest);
  const std::filesystem::path models = cache_of(folder()) / "models";
  const std::string key = listed().at(0).at("key");
  for (const char* damage :
       {"echo '{' >$K.json", "rm $K.json", "echo '{\"file\": \"../../x\"}' >$K.json",
        "rm $K/program.gumbel", "echo nothing >$K/program.gumbel",
        "printf X | dd of=$K/program.gumbel bs=1 seek=70 conv=notrunc status=none"}) {
    SCOPED_TRACE(damage);
    EXPECT_EQ(shell(models, "K=" + key + "; " + damage).status, 0);
    const Result again = gumbel("run tiny.gguf" + kRest);
    expect_first_run(again, "tiny.gguf");
    EXPECT_EQ(again.out, first.out);
  }
}

// The configuration of a model that is exported long enough to be seen at it: with 16 layers, of
// gigabytes.
std::string config_of(int layers) {
  return fmt::format(R"({{"architectures": ["LlamaForCausalLM"], "model_type": "llama",
      "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": {},
      "num_attention_heads": 16, "num_key_value_heads": 16, "vocab_size": 8000,
      "max_position_embeddings": 256, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
      "tie_word_embeddings": true}})",
                     layers);
}

TEST_F(ModelSource, InterruptionsAndFullDisksLeaveNothing) {
  files().write("large.json", config_of(16));
  const Result interrupted =
      shell(folder(), quoted(GUMBEL_PROGRAM) +
                          " bench random:large.json & while kill -0 $! && ! ls "
                          "$GUMBEL_CACHE/models/*/program.gumbel.partial; do sleep 0.01; done "
                          ">/dev/null 2>&1; kill -TERM $!; wait $!; echo status $?");
  EXPECT_EQ(interrupted.out, "status 143\n");
  EXPECT_NE(interrupted.err.find("random:large.json: exporting into the cache\n"),
            std::string::npos);
  EXPECT_EQ(shell(cache_of(folder()) / "models", "ls").out, "");
  const Result full = shell(folder(), "ulimit -f 20000; gumbel bench random:large.json");
  EXPECT_EQ(full.status, 1);
  EXPECT_NE(full.err.find("program.gumbel.partial: cannot write"), std::string::npos) << full.err;
  EXPECT_EQ(shell(cache_of(folder()) / "models", "ls").out, "");
  EXPECT_EQ(listed(), json::array());
}

TEST_F(ModelSource, AModelThatChangesMeanwhileIsRefused) {
  files().write("large.json", config_of(1));
  const Result changed = shell(folder(),
                               "gumbel bench random:large.json & until ls "
                               "$GUMBEL_CACHE/models/*/program.gumbel.partial || ! kill -0 $!; do "
                               "sleep 0.01; done >/dev/null 2>&1; echo >>large.json; wait $!; "
                               "echo status $?");
  EXPECT_EQ(changed.out, "status 1\n");
  EXPECT_NE(changed.err.find("its files changed while they were exported"), std::string::npos)
      << changed.err;
  EXPECT_EQ(shell(cache_of(folder()) / "models", "ls").out, "");
}

TEST_F(ModelSource, CachesThatCannotBe) {
  expect_refusal(shell(folder(), "GUMBEL_CACHE=/dev/null gumbel run tiny.gguf --prompt a"), 1,
                 "/dev/null/models: cannot create");
  expect_refusal(shell(folder(),
                       "unset GUMBEL_CACHE HOME XDG_CACHE_HOME; "
                       "gumbel run tiny.gguf --prompt a"),
                 1, "GUMBEL_CACHE");
  const auto folder_of = [](const std::string& variables) {
    return shell(folder(), "unset GUMBEL_CACHE; " + variables + " gumbel cache list").out;
  };
  EXPECT_EQ(folder_of("HOME=/h XDG_CACHE_HOME= "), "/h/.cache/gumbel: 0.0 MB in 0 entries\n");
  EXPECT_EQ(folder_of("HOME=/h XDG_CACHE_HOME=/x "), "/x/gumbel: 0.0 MB in 0 entries\n");
  EXPECT_EQ(folder_of("HOME=/h XDG_CACHE_HOME=x "), "/h/.cache/gumbel: 0.0 MB in 0 entries\n");
  EXPECT_EQ(folder_of("HOME=/h GUMBEL_CACHE=c "), "c: 0.0 MB in 0 entries\n");
}

// A hub with one GGUF model.
class FetchedModel : public ModelSource {
 protected:
  void SetUp() override {
    ModelSource::SetUp();
    hub.add("owner/model/tiny.gguf", tiny_gguf());
    hub.add("owner/model/README.md", "not fetched");
  }
  Result with_hub(const std::string& arguments) const {
    return shell(folder(), fmt::format("export HF_ENDPOINT={} HF_TOKEN=secret "
                                       "no_proxy=127.0.0.1; gumbel {}",
                                       hub.url(), arguments));
  }

  LocalHub hub;
};

TEST_F(FetchedModel, IsFetchedAndExportedOnce) {
  const Result first = with_hub("run hf:owner/model" + kRest);
  EXPECT_EQ(first.status, 0) << first.err;
  EXPECT_EQ(first.out, gumbel("run tiny.gguf" + kRest).out);
  EXPECT_TRUE(first.err.starts_with(fmt::format(
      "hf:owner/model: fetching from {}\nhf:owner/model: exporting into the cache\n", hub.url())))
      << first.err;
  EXPECT_EQ(cache_files(), "./KEY.json\n./KEY.json\n./KEY/model/tiny.gguf\n./KEY/program.gumbel\n");
  const size_t requests = hub.requests().size();
  const Result second = with_hub("run hf:owner/model" + kRest);
  EXPECT_EQ(second.out, first.out);
  EXPECT_EQ(second.err, "the model has no chat template: completing the text as it is\n");
  EXPECT_EQ(hub.requests().size(), requests) << "what is there is not asked for";
  for (const json& request : hub.requests())
    EXPECT_EQ(request.at("authorization"), "Bearer secret");
  EXPECT_EQ(with_hub("tokenize hf:owner/model --text ab").out,
            gumbel("tokenize tiny.gguf --text ab").out);
  EXPECT_EQ(with_hub("export hf:owner/model:tiny.gguf -o fetched.gumbel").status, 0);
  EXPECT_EQ(hub.requests().size(), requests + 2);
}

TEST_F(FetchedModel, ASignalEndsAFetchThatTheNextOneResumes) {
  hub.set_faults({{"tiny.gguf", {"slow:1000"}}});
  const Result ended = shell(
      folder(), fmt::format("export HF_ENDPOINT={} no_proxy=127.0.0.1; {} run hf:owner/model "
                            "--prompt a & until [ \"$(cat $GUMBEL_CACHE/models/*/model/*.partial "
                            "| wc -c)\" = 1000 ] || ! kill -0 $!; do sleep 0.01; done "
                            ">/dev/null 2>&1; kill -TERM $!; wait $!; echo status $?",
                            hub.url(), quoted(GUMBEL_PROGRAM)));
  EXPECT_EQ(ended.out, "status 143\n") << ended.err;
  EXPECT_EQ(with_hub("run hf:owner/model --prompt a").status, 0);
  EXPECT_EQ(hub.requests().back().at("range"), "bytes=1000-");
}

TEST_F(FetchedModel, AFolderHasTheNameOfItsModel) {
  for (const auto& file : std::filesystem::directory_iterator(folder() / "qwen3-chat"))
    hub.add("owner/folder/" + file.path().filename().string(), read_file(file.path()));
  const Result result = with_hub("run hf:owner/folder --prompt hello --seed 3");
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_EQ(result.out, gumbel("run chat.gumbel --prompt hello --seed 3").out);
  EXPECT_NE(with_hub("inspect hf:owner/folder").out.find("source: folder\n"), std::string::npos);
}

TEST_F(FetchedModel, FailuresAreOneLineAndResumed) {
  expect_refusal(with_hub("run hf:owner/none --prompt a"), 1, "status 404: no such model or file");
  expect_refusal(with_hub("run hf:owner --prompt a"), 1, "expected hf:OWNER/NAME");
  expect_refusal(gumbel("run owner/model --prompt a"), 1,
                 "owner/model: no such file or folder; a model of a hub is hf:owner/model");
  hub.set_faults({{"tree/main", {"403"}}});
  expect_refusal(with_hub("run hf:owner/model --prompt a"), 1, "HF_TOKEN");
  EXPECT_EQ(listed(), json::array());
  EXPECT_EQ(cache_files(), "");

  hub.set_faults({{"tiny.gguf", {"cut:1000", "404"}}});
  const Result cut = with_hub("run hf:owner/model --prompt a");
  EXPECT_EQ(cut.status, 1);
  EXPECT_NE(cut.err.find("status 404"), std::string::npos) << cut.err;
  const json entries = listed();
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0].at("kind"), "incomplete");
  EXPECT_EQ(with_hub("run hf:owner/model --prompt a").status, 0);
  EXPECT_EQ(hub.requests().back().at("range"), "bytes=1000-");
}

}  // namespace
}  // namespace gumbel::test
