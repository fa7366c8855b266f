// GgufFile's typed access to metadata.
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/quote.h"
#include "export/byte_cursor.h"
#include "export/gguf/file.h"

namespace gumbel {
namespace {

[[noreturn]] void wrong_type(const std::string& file, std::string_view key,
                             std::string_view expected, const GgufValue& value) {
  static constexpr std::string_view kNames[] = {"u8",  "i8",  "u16",  "i16",    "u32",
                                                "i32", "f32", "bool", "string", "array",
                                                "u64", "i64", "f64"};
  fail(ErrorCode::kCorruptFile, "{}: key {}: expected {}, got {}{}", file, quote(key), expected,
       value.is_array ? "an array of " : "", kNames[static_cast<size_t>(value.type)]);
}

/// The integer at `data`, or nothing for other types and for values above INT64_MAX.
std::optional<int64_t> integer_at(GgufValueType type, const std::byte* data) {
  switch (type) {
    case GgufValueType::kU8:
    case GgufValueType::kBool:
      return load<uint8_t>(data);
    case GgufValueType::kI8:
      return load<int8_t>(data);
    case GgufValueType::kU16:
      return load<uint16_t>(data);
    case GgufValueType::kI16:
      return load<int16_t>(data);
    case GgufValueType::kU32:
      return load<uint32_t>(data);
    case GgufValueType::kI32:
      return load<int32_t>(data);
    case GgufValueType::kU64: {
      const auto value = load<uint64_t>(data);
      if (value > static_cast<uint64_t>(INT64_MAX)) return std::nullopt;
      return static_cast<int64_t>(value);
    }
    case GgufValueType::kI64:
      return load<int64_t>(data);
    default:
      return std::nullopt;
  }
}

std::optional<double> number_at(GgufValueType type, const std::byte* data) {
  if (type == GgufValueType::kF32) return load<float>(data);
  if (type == GgufValueType::kF64) return load<double>(data);
  if (const auto integer = integer_at(type, data)) return static_cast<double>(*integer);
  return std::nullopt;
}

}  // namespace

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

bool GgufFile::is_array(std::string_view key) const {
  const GgufValue* value = find(key);
  return value != nullptr && value->is_array;
}

std::optional<int64_t> GgufFile::integer(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::optional<int64_t> result;
  if (!value->is_array && value->type != GgufValueType::kBool)
    result = integer_at(value->type, value->data.data());
  if (!result) wrong_type(name_, key, "an integer of at most 2^63 - 1", *value);
  return result;
}

std::optional<double> GgufFile::number(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  std::optional<double> result;
  if (!value->is_array && value->type != GgufValueType::kBool)
    result = number_at(value->type, value->data.data());
  if (!result) wrong_type(name_, key, "a number", *value);
  return result;
}

std::optional<bool> GgufFile::boolean(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array || value->type != GgufValueType::kBool)
    wrong_type(name_, key, "a bool", *value);
  const auto byte = load<uint8_t>(value->data.data());
  if (byte > 1)
    fail(ErrorCode::kCorruptFile, "{}: key {}: expected a bool of 0 or 1, got {}", name_,
         quote(key), byte);
  return byte == 1;
}

std::optional<std::string_view> GgufFile::string(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (value->is_array || value->type != GgufValueType::kString)
    wrong_type(name_, key, "a string", *value);
  return ByteCursor(value->data, name_).read_string("a metadata string");
}

std::optional<std::vector<int64_t>> GgufFile::integers(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array) wrong_type(name_, key, "an array of integers", *value);
  std::vector<int64_t> result;
  const size_t size = value->count == 0 ? 0 : value->data.size() / value->count;
  for (uint64_t i = 0; i < value->count; ++i) {
    const auto element = integer_at(value->type, value->data.data() + i * size);
    if (!element) wrong_type(name_, key, "an array of integers of at most 2^63 - 1", *value);
    result.push_back(*element);
  }
  return result;
}

std::optional<std::vector<float>> GgufFile::numbers(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array || value->type != GgufValueType::kF32)
    wrong_type(name_, key, "an array of f32", *value);
  std::vector<float> result(value->count);
  if (!result.empty()) std::memcpy(result.data(), value->data.data(), value->data.size());
  return result;
}

std::optional<std::vector<std::string_view>> GgufFile::strings(std::string_view key) const {
  const GgufValue* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array || value->type != GgufValueType::kString)
    wrong_type(name_, key, "an array of strings", *value);
  std::vector<std::string_view> result;
  ByteCursor cursor(value->data, name_);
  for (uint64_t i = 0; i < value->count; ++i)
    result.push_back(cursor.read_string("a metadata string"));
  return result;
}

}  // namespace gumbel
