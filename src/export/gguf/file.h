// A GGUF container, versions 2 and 3, little-endian (the specification is docs/gguf.md of ggml).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"
#include "program/weight_type.h"

namespace gumbel {

/// Types of metadata values, numbered as in the file.
enum class GgufValueType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};

/// A metadata value as it lies in the file; GgufFile's accessors decode it.
struct GgufValue {
  GgufValueType type = GgufValueType::kU8;  ///< of the value, or of an array's elements
  bool is_array = false;
  uint64_t count = 1;               ///< elements of an array
  std::span<const std::byte> data;  ///< encoded elements; strings keep their length prefixes
};

/// One tensor; its data has been checked to lie within the file and to overlap no other tensor's.
struct GgufTensor {
  std::string_view name;
  WeightType type = WeightType::kF32;
  std::vector<int64_t> shape;       ///< outermost dimension first, each at least 1
  std::span<const std::byte> data;  ///< rows of blocks as ggml lays them out

  int64_t columns() const { return shape.back(); }
  int64_t rows() const;  ///< product of all dimensions but the last
};

/// A verified GGUF file, or all files of a split one, mapped into memory. Nothing is copied: views
/// live as long as the object.
class GgufFile {
 public:
  /// Opens `path`; of a split file (NAME-00001-of-0000N.gguf), any part, and the others beside it.
  /// Throws Error: kIo, kNotFound (a part, named), kCorruptFile, kUnsupported (version, byte order,
  /// a tensor type, with the list of those known).
  explicit GgufFile(const std::filesystem::path& path);

  const std::string& name() const { return name_; }  ///< file name, for messages and provenance
  /// The file, or every part of a split one in order.
  const std::vector<std::filesystem::path>& paths() const { return paths_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  /// The tensor of that name, or null.
  const GgufTensor* find_tensor(std::string_view tensor_name) const;

  bool has(std::string_view key) const { return values_.contains(key); }
  /// The value under `key` as the type asked for, or nothing where the key is absent. Integers may
  /// have any width, numbers may be integers. Throws Error(kCorruptFile) naming the key where the
  /// value has another type or is out of range of the result.
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string_view> string(std::string_view key) const;
  /// Arrays, decoded element by element (booleans count as integers here).
  std::optional<std::vector<int64_t>> integers(std::string_view key) const;
  std::optional<std::vector<float>> numbers(std::string_view key) const;
  std::optional<std::vector<std::string_view>> strings(std::string_view key) const;
  /// Whether `key` holds an array.
  bool is_array(std::string_view key) const;

 private:
  struct Part;
  Part read_part(const std::filesystem::path& path);
  void open_split(const std::filesystem::path& path, const Part& first);
  void check_split_keys(const Part& part, int64_t index, int64_t count) const;
  void index_tensors();
  const GgufValue* find(std::string_view key) const;

  std::string name_;
  std::vector<std::filesystem::path> paths_;
  std::vector<MappedFile> files_;
  std::map<std::string_view, GgufValue> values_;  ///< of the first part
  std::vector<GgufTensor> tensors_;               ///< in file order
  std::map<std::string_view, size_t> tensor_index_;
};

}  // namespace gumbel
