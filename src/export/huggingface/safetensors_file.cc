#include "export/huggingface/safetensors_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <set>

#include "base/error.h"
#include "base/quote.h"
#include "export/byte_cursor.h"
#include "export/huggingface/strict_json.h"

namespace gumbel {
namespace {

using nlohmann::json;

struct Dtype {
  std::string_view name;
  int64_t bits;
};

/// All that the format defines; which of them a reader can use is the reader's business.
constexpr std::array<Dtype, 20> kDtypes = {{
    {"BOOL", 8}, {"F4", 4},      {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
    {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
    {"U16", 16}, {"F16", 16},    {"BF16", 16},   {"I32", 32},    {"U32", 32},
    {"F32", 32}, {"C64", 64},    {"F64", 64},    {"I64", 64},    {"U64", 64},
}};

int64_t dtype_bits(std::string_view dtype, const std::string& where) {
  for (const Dtype& known : kDtypes)
    if (known.name == dtype) return known.bits;
  fail(ErrorCode::kUnsupported, "{}: dtype {} is not one that safetensors defines", where,
       quote(dtype));
}

/// `value` as an integer in [0, 2^63), or an error that says what it is of.
int64_t length(const json& value, const std::string& where, std::string_view what) {
  if (!value.is_number_unsigned() ||
      value.get<uint64_t>() > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
    fail(ErrorCode::kCorruptFile, "{}: expected {} of integers from 0 to 2^63 - 1", where, what);
  return value.get<int64_t>();
}

/// One entry of the header; `begin` and `end` are offsets in the data section.
SafetensorsTensor read_entry(const std::string& name, const json& entry, const std::string& where,
                             int64_t* begin, int64_t* end) {
  SafetensorsTensor tensor;
  tensor.name = name;
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets") || !entry["dtype"].is_string() ||
      !entry["shape"].is_array() || !entry["data_offsets"].is_array() ||
      entry["data_offsets"].size() != 2)
    fail(ErrorCode::kCorruptFile,
         "{}: expected an object of dtype (string), shape (array) and data_offsets (two integers)",
         where);
  tensor.dtype = entry["dtype"].get<std::string>();
  int64_t bits = dtype_bits(tensor.dtype, where);
  for (const json& dimension : entry["shape"]) {
    tensor.shape.push_back(length(dimension, where, "a shape"));
    if (__builtin_mul_overflow(bits, tensor.shape.back(), &bits))
      fail(ErrorCode::kCorruptFile, "{}: the product of its shape overflows 2^63 bits", where);
  }
  *begin = length(entry["data_offsets"][0], where, "data_offsets");
  *end = length(entry["data_offsets"][1], where, "data_offsets");
  if (*begin > *end || bits % 8 != 0 || *end - *begin != bits / 8)
    fail(ErrorCode::kCorruptFile, "{}: expected data_offsets that span {} bytes, got [{}, {}]",
         where, (bits + 7) / 8, *begin, *end);
  return tensor;
}

}  // namespace

int64_t SafetensorsTensor::elements() const {
  int64_t count = 1;
  for (const int64_t dimension : shape) count *= dimension;
  return count;
}

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path)
    : name_(path.filename().string()) {
  add(path);
}

void SafetensorsFile::add(const std::filesystem::path& path) {
  // The reference implementation's own bound on the header.
  constexpr uint64_t kLongestHeader = 100'000'000;
  const std::string file = path.filename().string();
  const auto bytes = files_.emplace_back(path).bytes();
  ByteCursor cursor(bytes, file);
  const auto header_bytes = cursor.read<uint64_t>("the header's length");
  if (header_bytes > kLongestHeader)
    fail(ErrorCode::kCorruptFile, "{}: expected a header of at most {} bytes, got {}", file,
         kLongestHeader, header_bytes);
  const auto header_text = cursor.take(header_bytes, "the header");
  const json header = parse_strict_json(
      {reinterpret_cast<const char*>(header_text.data()), header_text.size()}, file + ": header");
  if (!header.is_object())
    fail(ErrorCode::kCorruptFile, "{}: expected a header that is a JSON object", file);
  const auto data = bytes.subspan(cursor.position());

  struct Extent {
    int64_t begin, end;
    const SafetensorsTensor* tensor;
  };
  std::vector<Extent> extents;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object())
        fail(ErrorCode::kCorruptFile, "{}: __metadata__: expected an object of strings", file);
      for (const auto& [key, value] : entry.items()) {
        if (!value.is_string())
          fail(ErrorCode::kCorruptFile, "{}: __metadata__: expected an object of strings", file);
        if (files_.size() == 1) metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    const std::string where = file + ": tensor " + quote(name);
    Extent extent{};
    SafetensorsTensor tensor = read_entry(name, entry, where, &extent.begin, &extent.end);
    if (static_cast<uint64_t>(extent.end) > data.size())
      fail(ErrorCode::kCorruptFile,
           "{}: expected data_offsets within the {} bytes of data, got [{}, {}]", where,
           data.size(), extent.begin, extent.end);
    tensor.data = data.subspan(static_cast<size_t>(extent.begin),
                               static_cast<size_t>(extent.end - extent.begin));
    const auto [position, added] = tensors_.emplace(name, std::move(tensor));
    if (!added) fail(ErrorCode::kCorruptFile, "{}: another shard has it as well", where);
    extent.tensor = &position->second;
    extents.push_back(extent);
  }
  std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
  });
  // The format wants the tensors to fill the data section without gaps.
  int64_t end = 0;
  for (const Extent& extent : extents) {
    if (extent.begin != end)
      fail(ErrorCode::kCorruptFile, "{}: tensor {}: expected data from byte {} on ({}), got {}",
           file, quote(extent.tensor->name), end,
           extent.begin < end ? "it overlaps another tensor" : "there is a gap", extent.begin);
    end = extent.end;
  }
  if (static_cast<uint64_t>(end) != data.size())
    fail(ErrorCode::kCorruptFile, "{}: expected {} bytes of tensor data, got {}", file, end,
         data.size());
}

SafetensorsFile SafetensorsFile::open_folder(const std::filesystem::path& folder) {
  SafetensorsFile result;
  const auto single = folder / "model.safetensors";
  const auto index_path = folder / "model.safetensors.index.json";
  std::error_code ignored;
  if (std::filesystem::exists(single, ignored)) {
    result.name_ = "model.safetensors";
    result.add(single);
    return result;
  }
  if (!std::filesystem::exists(index_path, ignored))
    fail(ErrorCode::kNotFound,
         "{}: expected model.safetensors, or model.safetensors.index.json with its shards",
         folder.string());
  result.name_ = "model.safetensors.index.json";
  const json index = read_strict_json(index_path);
  if (!index.is_object() || !index.contains("weight_map") || !index["weight_map"].is_object())
    fail(ErrorCode::kCorruptFile, "{}: expected an object with weight_map", index_path.string());
  std::set<std::string> shards;
  for (const auto& [name, shard] : index["weight_map"].items()) {
    if (!shard.is_string())
      fail(ErrorCode::kCorruptFile, "{}: weight_map: expected a file name for {}",
           index_path.string(), quote(name));
    const auto file = shard.get<std::string>();
    // A shard lies in the folder itself: an index must not reach elsewhere.
    if (file.empty() || file.find('/') != std::string::npos || file.find('\0') != std::string::npos)
      fail(ErrorCode::kCorruptFile, "{}: weight_map: expected a file name for {}, got {}",
           index_path.string(), quote(name), quote(file));
    shards.insert(file);
  }
  for (const std::string& shard : shards) {
    if (!std::filesystem::exists(folder / shard, ignored))
      fail(ErrorCode::kNotFound, "{}: shard {} is missing", index_path.string(), quote(shard));
    result.add(folder / shard);
  }
  for (const auto& [name, shard] : index["weight_map"].items())
    if (!result.tensors_.contains(name))
      fail(ErrorCode::kNotFound, "{}: shard {} lacks tensor {}", index_path.string(),
           quote(shard.get<std::string>()), quote(name));
  return result;
}

const SafetensorsTensor* SafetensorsFile::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

const SafetensorsTensor& SafetensorsFile::typed(std::string_view name,
                                                std::string_view dtype) const {
  const SafetensorsTensor* tensor = find(name);
  if (tensor == nullptr) fail(ErrorCode::kNotFound, "{}: tensor {} is missing", name_, quote(name));
  if (tensor->dtype != dtype)
    fail(ErrorCode::kUnsupported, "{}: tensor {}: expected dtype {}, got {}", name_, quote(name),
         dtype, tensor->dtype);
  return *tensor;
}

std::vector<int64_t> SafetensorsFile::read_i64(std::string_view name) const {
  const SafetensorsTensor& tensor = typed(name, "I64");
  std::vector<int64_t> values(static_cast<size_t>(tensor.elements()));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

std::vector<float> SafetensorsFile::read_f32(std::string_view name) const {
  const SafetensorsTensor& tensor = typed(name, "F32");
  std::vector<float> values(static_cast<size_t>(tensor.elements()));
  if (!values.empty()) std::memcpy(values.data(), tensor.data.data(), tensor.data.size());
  return values;
}

}  // namespace gumbel
