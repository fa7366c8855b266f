// Writing small GGUF files, right and wrong ones.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace gumbel::test {

/// Builds a GGUF file in memory. Everything that a hostile file may lie about can be set apart from
/// what is written.
class GgufWriter {
 public:
  uint32_t version = 3;
  uint32_t alignment = 32;  ///< of the tensor data; general.alignment is not written by itself

  void add_u16(std::string_view key, uint16_t value);
  void add_u32(std::string_view key, uint32_t value);
  void add_i32(std::string_view key, int32_t value);
  void add_u64(std::string_view key, uint64_t value);
  void add_f32(std::string_view key, float value);
  void add_bool(std::string_view key, bool value);
  void add_string(std::string_view key, std::string_view value);
  void add_strings(std::string_view key, const std::vector<std::string>& values);
  void add_i32s(std::string_view key, const std::vector<int32_t>& values);
  void add_f32s(std::string_view key, const std::vector<float>& values);
  /// A value of any type number with these bytes.
  void add_raw(std::string_view key, uint32_t type, std::string_view bytes);

  /// A tensor with GGUF's order of dimensions (columns first); its data go to the next aligned
  /// offset.
  void add_tensor(std::string_view name, const std::vector<uint64_t>& dimensions, uint32_t type,
                  std::string_view data);
  /// A tensor of f32 values.
  void add_f32_tensor(std::string_view name, const std::vector<uint64_t>& dimensions,
                      const std::vector<float>& values);
  /// A tensor that claims this offset and brings no data.
  void add_claim(std::string_view name, const std::vector<uint64_t>& dimensions, uint32_t type,
                 uint64_t offset);

  /// Bytes before the tensor data, without the padding.
  size_t header_bytes() const { return 24 + values_.size() + infos_.size(); }
  /// The file.
  std::string bytes() const;

 private:
  std::string values_, infos_, data_;
  uint64_t value_count_ = 0, tensor_count_ = 0;
};

/// The little-endian bytes of a value.
template <typename T>
std::string encode(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

/// A length and a text, as GGUF writes strings.
std::string encode_string(std::string_view text);

}  // namespace gumbel::test
