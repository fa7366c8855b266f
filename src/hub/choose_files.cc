#include "hub/choose_files.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "base/error.h"
#include "base/json_fields.h"
#include "base/quote.h"

namespace gumbel {
namespace {

constexpr std::string_view kIndex = "model.safetensors.index.json";
constexpr std::string_view kBeside[] = {"chat_template.jinja",  "chat_template.json",
                                        "config.json",          "generation_config.json",
                                        "tokenizer.json",       "special_tokens_map.json",
                                        "tokenizer_config.json"};
constexpr size_t kMostListed = 40;

const HubFile* find(const std::vector<HubFile>& listing, std::string_view path) {
  const auto found = std::find_if(listing.begin(), listing.end(),
                                  [&](const HubFile& file) { return file.path == path; });
  return found == listing.end() ? nullptr : &*found;
}

// PREFIX-00002-of-00005.gguf, taken apart.
struct SplitName {
  std::string prefix;
  int number = 0;
  int parts = 0;

  std::string part(int i) const { return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, i, parts); }
};

std::optional<SplitName> parse_split_name(const std::string& path) {
  constexpr size_t kSuffix = std::string_view("-00001-of-00001.gguf").size();
  if (path.size() <= kSuffix) return std::nullopt;
  SplitName split;
  split.prefix = path.substr(0, path.size() - kSuffix);
  const char* suffix = path.data() + split.prefix.size();
  std::from_chars(suffix + 1, suffix + 6, split.number);
  std::from_chars(suffix + 10, suffix + 15, split.parts);
  if (split.number < 1 || split.number > split.parts || split.part(split.number) != path)
    return std::nullopt;
  return split;
}

// The models among the GGUF files, split ones by their first part. Projectors of images ("mmproj")
// are none.
std::vector<std::string> gguf_models(const std::vector<HubFile>& listing) {
  std::vector<std::string> models;
  for (const HubFile& file : listing) {
    if (!file.path.ends_with(".gguf") || file.name().starts_with("mmproj")) continue;
    const auto split = parse_split_name(file.path);
    if (!split || split->number == 1) models.push_back(file.path);
  }
  std::sort(models.begin(), models.end());
  return models;
}

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMostListed); ++i)
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  if (names.size() > kMostListed) text += fmt::format(" and {} more", names.size() - kMostListed);
  return text;
}

FileChoice choose_gguf(const std::vector<HubFile>& listing, const std::string& model,
                       const std::string& path) {
  FileChoice choice;
  const auto split = parse_split_name(path);
  choice.gguf = split ? split->part(1) : path;
  for (int i = 1; i <= (split ? split->parts : 1); ++i) {
    const std::string part = split ? split->part(i) : path;
    const HubFile* file = find(listing, part);
    if (file == nullptr)
      fail(ErrorCode::kNotFound, "{}: {}: no such file; expected one of: {}", model, quote(part),
           listed(gguf_models(listing)));
    choice.files.push_back(*file);
  }
  return choice;
}

}  // namespace

FileChoice choose_files(const std::vector<HubFile>& listing, const ModelName& name) {
  const std::string model = "hf:" + name.repository();
  if (!name.file.empty()) return choose_gguf(listing, model, name.file);

  const HubFile* weights = find(listing, "model.safetensors");
  const HubFile* index = weights == nullptr ? find(listing, kIndex) : nullptr;
  if (find(listing, "config.json") != nullptr && (weights != nullptr || index != nullptr)) {
    FileChoice choice;
    for (const std::string_view beside : kBeside)
      if (const HubFile* file = find(listing, beside)) choice.files.push_back(*file);
    choice.files.push_back(weights != nullptr ? *weights : *index);
    if (index != nullptr) choice.index = kIndex;
    return choice;
  }
  const std::vector<std::string> models = gguf_models(listing);
  if (models.size() == 1) return choose_gguf(listing, model, models.front());
  if (!models.empty())
    fail(ErrorCode::kNotFound, "{}: expected {}:FILE with one of: {}", model, model,
         listed(models));
  std::vector<std::string> names;
  for (const HubFile& file : listing) names.push_back(file.path);
  fail(ErrorCode::kNotFound,
       "{}: expected config.json with model.safetensors or its shards, or a GGUF file, found: {}",
       model, names.empty() ? "nothing" : listed(names));
}

std::vector<HubFile> choose_shards(std::string_view index, const std::vector<HubFile>& listing,
                                   const std::string& where) {
  const nlohmann::json value = parse_json_object(index, where);
  const JsonFields fields(value, where);
  const auto map = fields.object("weight_map");
  if (!map) fail(ErrorCode::kCorruptFile, "{}: expected a weight_map", where);
  std::set<std::string> names;
  for (const auto& [tensor, shard] : value["weight_map"].items()) {
    if (!shard.is_string())
      fail(ErrorCode::kCorruptFile, "{}: weight_map: expected a file name for {}", where,
           quote(tensor));
    names.insert(shard.get<std::string>());
  }
  std::vector<HubFile> shards;
  for (const std::string& name : names) {
    const HubFile* file = find(listing, name);
    if (file == nullptr || name.find('/') != std::string::npos || !name.ends_with(".safetensors"))
      fail(ErrorCode::kNotFound, "{}: shard {} is missing", where, quote(name));
    shards.push_back(*file);
  }
  return shards;
}

}  // namespace gumbel
