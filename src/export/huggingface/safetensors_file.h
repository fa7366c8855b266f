// A safetensors container, and a folder of several (https://github.com/huggingface/safetensors).
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mapped_file.h"

namespace gumbel {

/// One tensor; its data has been checked to match dtype and shape, to lie within the file and to
/// overlap no other tensor's.
struct SafetensorsTensor {
  std::string name;
  std::string dtype;                ///< as spelled in the file, e.g. "BF16"
  std::vector<int64_t> shape;       ///< outermost dimension first; empty for a scalar; 0 is allowed
  std::span<const std::byte> data;  ///< row-major, little-endian; any alignment

  int64_t elements() const;  ///< product of the dimensions
};

/// A verified safetensors file, or all shards of an indexed one, mapped into memory.
class SafetensorsFile {
 public:
  /// Opens one file. Throws Error: kIo, kCorruptFile naming the tensor, kUnsupported (dtype that
  /// the format does not define).
  explicit SafetensorsFile(const std::filesystem::path& path);
  /// Opens `folder`/model.safetensors, or every shard that `folder`/model.safetensors.index.json
  /// names. Throws as above, and Error(kNotFound) naming a missing shard or, where a shard lacks
  /// it, the tensor.
  static SafetensorsFile open_folder(const std::filesystem::path& folder);

  /// Every tensor by name.
  const std::map<std::string, SafetensorsTensor, std::less<>>& tensors() const { return tensors_; }
  /// The tensor of that name, or null.
  const SafetensorsTensor* find(std::string_view name) const;
  /// The strings of `__metadata__` (of the first shard).
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

  /// The whole tensor, row-major. Throws Error(kNotFound) where there is none of that name, and
  /// Error(kUnsupported) where its dtype is not I64, or not F32 respectively.
  std::vector<int64_t> read_i64(std::string_view name) const;
  std::vector<float> read_f32(std::string_view name) const;

 private:
  SafetensorsFile() = default;
  void add(const std::filesystem::path& path);
  const SafetensorsTensor& typed(std::string_view name, std::string_view dtype) const;

  std::string name_;
  std::vector<MappedFile> files_;
  std::map<std::string, SafetensorsTensor, std::less<>> tensors_;
  std::map<std::string, std::string> metadata_;
};

}  // namespace gumbel
