#include "export/gguf/writer.h"

namespace gumbel::test {

std::string encode_string(std::string_view text) {
  return encode<uint64_t>(text.size()) + std::string(text);
}

void GgufWriter::add_raw(std::string_view key, uint32_t type, std::string_view bytes) {
  values_ += encode_string(key) + encode(type) + std::string(bytes);
  ++value_count_;
}

void GgufWriter::add_u16(std::string_view key, uint16_t value) { add_raw(key, 2, encode(value)); }
void GgufWriter::add_u32(std::string_view key, uint32_t value) { add_raw(key, 4, encode(value)); }
void GgufWriter::add_i32(std::string_view key, int32_t value) { add_raw(key, 5, encode(value)); }
void GgufWriter::add_f32(std::string_view key, float value) { add_raw(key, 6, encode(value)); }
void GgufWriter::add_bool(std::string_view key, bool value) {
  add_raw(key, 7, encode<uint8_t>(value));
}
void GgufWriter::add_string(std::string_view key, std::string_view value) {
  add_raw(key, 8, encode_string(value));
}
void GgufWriter::add_u64(std::string_view key, uint64_t value) { add_raw(key, 10, encode(value)); }

void GgufWriter::add_strings(std::string_view key, const std::vector<std::string>& values) {
  std::string bytes = encode<uint32_t>(8) + encode<uint64_t>(values.size());
  for (const std::string& value : values) bytes += encode_string(value);
  add_raw(key, 9, bytes);
}

void GgufWriter::add_i32s(std::string_view key, const std::vector<int32_t>& values) {
  std::string bytes = encode<uint32_t>(5) + encode<uint64_t>(values.size());
  for (const int32_t value : values) bytes += encode(value);
  add_raw(key, 9, bytes);
}

void GgufWriter::add_f32s(std::string_view key, const std::vector<float>& values) {
  std::string bytes = encode<uint32_t>(6) + encode<uint64_t>(values.size());
  for (const float value : values) bytes += encode(value);
  add_raw(key, 9, bytes);
}

void GgufWriter::add_claim(std::string_view name, const std::vector<uint64_t>& dimensions,
                           uint32_t type, uint64_t offset) {
  infos_ += encode_string(name) + encode(static_cast<uint32_t>(dimensions.size()));
  for (const uint64_t dimension : dimensions) infos_ += encode(dimension);
  infos_ += encode(type) + encode(offset);
  ++tensor_count_;
}

void GgufWriter::add_tensor(std::string_view name, const std::vector<uint64_t>& dimensions,
                            uint32_t type, std::string_view data) {
  data_.resize((data_.size() + alignment - 1) / alignment * alignment);
  add_claim(name, dimensions, type, data_.size());
  data_ += data;
}

void GgufWriter::add_f32_tensor(std::string_view name, const std::vector<uint64_t>& dimensions,
                                const std::vector<float>& values) {
  add_tensor(name, dimensions, 0,
             {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)});
}

std::string GgufWriter::bytes() const {
  std::string file = "GGUF" + encode(version) + encode(tensor_count_) + encode(value_count_);
  file += values_ + infos_;
  file.resize((file.size() + alignment - 1) / alignment * alignment);
  return file + data_;
}

}  // namespace gumbel::test
