#include "export/gguf/file.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/quote.h"
#include "export/byte_cursor.h"
#include "export/gguf/blocks.h"

namespace gumbel {
namespace {

/// Encoded bytes of a value of fixed size; 0 for strings, arrays and unknown types.
size_t fixed_size(GgufValueType type) {
  switch (type) {
    case GgufValueType::kU8:
    case GgufValueType::kI8:
    case GgufValueType::kBool:
      return 1;
    case GgufValueType::kU16:
    case GgufValueType::kI16:
      return 2;
    case GgufValueType::kU32:
    case GgufValueType::kI32:
    case GgufValueType::kF32:
      return 4;
    case GgufValueType::kU64:
    case GgufValueType::kI64:
    case GgufValueType::kF64:
      return 8;
    case GgufValueType::kString:
    case GgufValueType::kArray:
      break;
  }
  return 0;
}

GgufValue read_value(ByteCursor& cursor, const std::string& file, std::string_view key) {
  GgufValue value;
  value.type = static_cast<GgufValueType>(cursor.read<uint32_t>("a value type"));
  if (value.type == GgufValueType::kArray) {
    value.is_array = true;
    value.type = static_cast<GgufValueType>(cursor.read<uint32_t>("an array's element type"));
    value.count = cursor.read<uint64_t>("an array's length");
    if (value.type == GgufValueType::kArray)
      fail(ErrorCode::kUnsupported, "{}: key {}: arrays of arrays are not supported", file,
           quote(key));
  }
  if (value.type == GgufValueType::kString) {
    const size_t first = cursor.position();
    ByteCursor ahead = cursor;
    for (uint64_t i = 0; i < value.count; ++i) ahead.read_string("a metadata string");
    value.data = cursor.take(ahead.position() - first, "metadata strings");
    return value;
  }
  const size_t size = fixed_size(value.type);
  if (size == 0)
    fail(ErrorCode::kCorruptFile, "{}: key {}: expected a value type of 0 to 12, got {}", file,
         quote(key), static_cast<uint32_t>(value.type));
  // The division keeps count * size from overflowing.
  if (value.count > cursor.remaining() / size)
    fail(ErrorCode::kCorruptFile,
         "{}: key {}: expected at most {} elements in the bytes left, got {}", file, quote(key),
         cursor.remaining() / size, value.count);
  value.data = cursor.take(value.count * size, "a metadata value");
  return value;
}

/// The fields of a tensor in the header; `offset` is from the start of the data section.
GgufTensor read_tensor_info(ByteCursor& cursor, const std::string& file, uint64_t* offset,
                            uint64_t* bytes) {
  GgufTensor tensor;
  tensor.name = cursor.read_string("a tensor's name");
  const std::string name = quote(tensor.name);
  const auto dimensions = cursor.read<uint32_t>("a tensor's dimension count");
  if (dimensions < 1 || dimensions > 4)
    fail(ErrorCode::kCorruptFile, "{}: tensor {}: expected 1 to 4 dimensions, got {}", file, name,
         dimensions);
  int64_t elements = 1;
  for (uint32_t i = 0; i < dimensions; ++i) {
    const auto dimension = cursor.read<uint64_t>("a tensor's dimension");
    if (dimension == 0 || dimension > INT64_MAX ||
        __builtin_mul_overflow(elements, static_cast<int64_t>(dimension), &elements))
      fail(ErrorCode::kCorruptFile,
           "{}: tensor {}: expected dimensions of at least 1 with a product below 2^63, got {} as "
           "dimension {}",
           file, name, dimension, i);
    tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(dimension));
  }
  const auto ggml_type = cursor.read<uint32_t>("a tensor's type");
  const auto type = gguf_weight_type(ggml_type);
  if (!type)
    fail(ErrorCode::kUnsupported, "{}: tensor {} has type {}, expected one of {}", file, name,
         gguf_type_name(ggml_type), gguf_known_types());
  tensor.type = *type;
  const WeightTraits& t = traits(*type);
  if (tensor.columns() % t.block != 0)
    fail(ErrorCode::kCorruptFile, "{}: tensor {}: expected rows of a multiple of {} ({}), got {}",
         file, name, t.block, t.name, tensor.columns());
  int64_t size = 0;
  if (__builtin_mul_overflow(elements / t.block, gguf_block_bytes(*type), &size))
    fail(ErrorCode::kCorruptFile, "{}: tensor {}: its size overflows 2^63 bytes", file, name);
  *bytes = static_cast<uint64_t>(size);
  *offset = cursor.read<uint64_t>("a tensor's offset");
  return tensor;
}

}  // namespace

int64_t GgufTensor::rows() const {
  int64_t rows = 1;
  for (size_t i = 0; i + 1 < shape.size(); ++i) rows *= shape[i];
  return rows;
}

/// One file of a GGUF, parsed; views into a mapping that `files_` owns.
struct GgufFile::Part {
  std::string name;
  std::map<std::string_view, GgufValue> values;
  std::vector<GgufTensor> tensors;
};

GgufFile::Part GgufFile::read_part(const std::filesystem::path& path) {
  Part part;
  part.name = path.filename().string();
  paths_.push_back(path);
  const auto bytes = files_.emplace_back(path).bytes();
  ByteCursor cursor(bytes, part.name);
  const auto magic = cursor.take(4, "the magic \"GGUF\"");
  if (std::memcmp(magic.data(), "GGUF", 4) != 0)
    fail(ErrorCode::kCorruptFile, "{}: expected the magic \"GGUF\", got {}", part.name,
         quote({reinterpret_cast<const char*>(magic.data()), 4}));
  const auto version = cursor.read<uint32_t>("the version");
  if (version == 0x02000000 || version == 0x03000000)
    fail(ErrorCode::kUnsupported, "{}: expected little-endian GGUF, got big-endian", part.name);
  if (version != 2 && version != 3)
    fail(ErrorCode::kUnsupported, "{}: expected GGUF version 2 or 3, got {}", part.name, version);
  const auto tensor_count = cursor.read<uint64_t>("the tensor count");
  const auto value_count = cursor.read<uint64_t>("the metadata count");

  for (uint64_t i = 0; i < value_count; ++i) {
    const std::string_view key = cursor.read_string("a metadata key");
    if (!part.values.emplace(key, read_value(cursor, part.name, key)).second)
      fail(ErrorCode::kCorruptFile, "{}: key {} stands twice", part.name, quote(key));
  }
  uint64_t alignment = 32;
  if (const auto found = part.values.find("general.alignment"); found != part.values.end()) {
    const GgufValue& value = found->second;
    if (value.is_array || value.type != GgufValueType::kU32)
      fail(ErrorCode::kCorruptFile, "{}: general.alignment: expected a u32", part.name);
    alignment = load<uint32_t>(value.data.data());
    if (!std::has_single_bit(alignment))
      fail(ErrorCode::kCorruptFile, "{}: general.alignment: expected a power of two, got {}",
           part.name, alignment);
  }

  struct Extent {
    uint64_t offset, bytes;
    size_t tensor;
  };
  std::vector<Extent> extents;
  for (uint64_t i = 0; i < tensor_count; ++i) {
    Extent extent{0, 0, part.tensors.size()};
    part.tensors.push_back(read_tensor_info(cursor, part.name, &extent.offset, &extent.bytes));
    extents.push_back(extent);
  }
  const uint64_t start = (cursor.position() + alignment - 1) / alignment * alignment;
  const uint64_t available = start < bytes.size() ? bytes.size() - start : 0;
  std::sort(extents.begin(), extents.end(),
            [](const Extent& a, const Extent& b) { return a.offset < b.offset; });
  uint64_t end = 0;  // of the tensor before, in the data section
  for (const Extent& extent : extents) {
    GgufTensor& tensor = part.tensors[extent.tensor];
    const std::string name = quote(tensor.name);
    if (extent.offset % alignment != 0)
      fail(ErrorCode::kCorruptFile, "{}: tensor {}: expected an offset of a multiple of {}, got {}",
           part.name, name, alignment, extent.offset);
    if (extent.offset > available || extent.bytes > available - extent.offset)
      fail(ErrorCode::kCorruptFile,
           "{}: tensor {}: expected its {} bytes at offset {} within the {} bytes of tensor data",
           part.name, name, extent.bytes, extent.offset, available);
    if (extent.offset < end)
      fail(ErrorCode::kCorruptFile, "{}: tensor {} overlaps another tensor", part.name, name);
    end = extent.offset + extent.bytes;
    tensor.data = bytes.subspan(start + extent.offset, extent.bytes);
  }
  return part;
}

GgufFile::GgufFile(const std::filesystem::path& path) : name_(path.filename().string()) {
  Part part = read_part(path);
  values_ = std::move(part.values);
  const int64_t parts = integer("split.count").value_or(1);
  if (parts == 1) {
    tensors_ = std::move(part.tensors);
  } else {
    open_split(path, part);
  }
  index_tensors();
}

// Parts are named PREFIX-00001-of-00003.gguf; the first one has the metadata, split.no counts from
// 0, and every part has a header of its own.
void GgufFile::open_split(const std::filesystem::path& path, const Part& first) {
  const int64_t parts = integer("split.count").value();
  if (parts < 1 || parts > 99999)
    fail(ErrorCode::kCorruptFile, "{}: split.count: expected 1 to 99999, got {}", name_, parts);
  const int64_t number = integer("split.no").value_or(-1) + 1;
  const std::string suffix = fmt::format("-{:05}-of-{:05}.gguf", number, parts);
  if (!name_.ends_with(suffix))
    fail(ErrorCode::kNotFound,
         "{}: part {} of {} of a split file: expected a name that ends in {}, so that the other "
         "parts can be found",
         first.name, number, parts, suffix);
  const std::string prefix = name_.substr(0, name_.size() - suffix.size());
  files_.clear();
  paths_.clear();
  values_.clear();
  for (int64_t i = 0; i < parts; ++i) {
    const auto part_path =
        path.parent_path() / fmt::format("{}-{:05}-of-{:05}.gguf", prefix, i + 1, parts);
    std::error_code ignored;
    if (!std::filesystem::exists(part_path, ignored))
      fail(ErrorCode::kNotFound, "{}: part {} of {} is missing: {}", name_, i + 1, parts,
           part_path.filename().string());
    Part part = read_part(part_path);
    // Only the first part's values are kept; the split keys of each are checked.
    std::swap(values_, part.values);
    check_split_keys(part, i, parts);
    if (i > 0) std::swap(values_, part.values);
    std::move(part.tensors.begin(), part.tensors.end(), std::back_inserter(tensors_));
  }
  name_ = fmt::format("{}-{:05}-of-{:05}.gguf", prefix, 1, parts);
  const auto total = integer("split.tensors.count");
  if (total && *total != static_cast<int64_t>(tensors_.size()))
    fail(ErrorCode::kCorruptFile, "{}: split.tensors.count: expected {} (in all parts), got {}",
         name_, tensors_.size(), *total);
}

void GgufFile::check_split_keys(const Part& part, int64_t index, int64_t count) const {
  const int64_t found_index = integer("split.no").value_or(-1);
  const int64_t found_count = integer("split.count").value_or(-1);
  if (found_index != index || found_count != count)
    fail(ErrorCode::kCorruptFile,
         "{}: expected split.no {} and split.count {}, got {} and {} (-1: absent)", part.name,
         index, count, found_index, found_count);
}

void GgufFile::index_tensors() {
  for (size_t i = 0; i < tensors_.size(); ++i)
    if (!tensor_index_.emplace(tensors_[i].name, i).second)
      fail(ErrorCode::kCorruptFile, "{}: tensor {} stands twice", name_, quote(tensors_[i].name));
}

const GgufTensor* GgufFile::find_tensor(std::string_view tensor_name) const {
  const auto found = tensor_index_.find(tensor_name);
  return found == tensor_index_.end() ? nullptr : &tensors_[found->second];
}

}  // namespace gumbel
