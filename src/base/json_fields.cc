#include "base/json_fields.h"

#include <limits>
#include <utility>

#include "base/error.h"
#include "base/quote.h"

namespace gumbel {
namespace {

bool fits(const nlohmann::json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() ||
          value.get<uint64_t>() <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()));
}

}  // namespace

nlohmann::json parse_json_object(std::string_view text, const std::string& where) {
  nlohmann::json value;
  try {
    value = nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    // The message may hold a whole string of the document.
    fail(ErrorCode::kCorruptFile, "{}: not JSON: {}", where, quote(error.what(), 160));
  }
  if (!value.is_object())
    fail(ErrorCode::kCorruptFile, "{}: expected an object, got {}", where, value.type_name());
  return value;
}

JsonFields::JsonFields(const nlohmann::json& value, std::string where)
    : value_(&value), where_(std::move(where)) {
  if (!value.is_object() && !value.is_null())
    fail(ErrorCode::kCorruptFile, "{}: expected a JSON object, got {}", where_, value.type_name());
}

bool JsonFields::is_null(std::string_view key) const {
  const auto found = value_->find(key);
  return found != value_->end() && found->is_null();
}

const nlohmann::json* JsonFields::find(std::string_view key) const {
  const auto found = value_->find(key);
  return found == value_->end() || found->is_null() ? nullptr : &*found;
}

void JsonFields::wrong_type(std::string_view key, std::string_view expected) const {
  fail(ErrorCode::kCorruptFile, "{}: {}: expected {}, got {}", where_, key, expected,
       find(key)->type_name());
}

std::optional<int64_t> JsonFields::integer(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!fits(*value)) wrong_type(key, "an integer below 2^63");
  return value->get<int64_t>();
}

std::optional<double> JsonFields::number(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) wrong_type(key, "a number");
  return value->get<double>();
}

std::optional<bool> JsonFields::boolean(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) wrong_type(key, "true or false");
  return value->get<bool>();
}

std::optional<std::string> JsonFields::string(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) wrong_type(key, "a string");
  return value->get<std::string>();
}

const nlohmann::json& JsonFields::value(std::string_view key) const {
  static const nlohmann::json null;
  const nlohmann::json* found = find(key);
  return found == nullptr ? null : *found;
}

const nlohmann::json& JsonFields::array(std::string_view key) const {
  static const nlohmann::json empty = nlohmann::json::array();
  const nlohmann::json* found = find(key);
  if (found == nullptr) return empty;
  if (!found->is_array()) wrong_type(key, "an array");
  return *found;
}

std::string JsonFields::string_or(std::string_view key, std::string_view otherwise) const {
  return string(key).value_or(std::string(otherwise));
}

bool JsonFields::boolean_or(std::string_view key, bool otherwise) const {
  return boolean(key).value_or(otherwise);
}

std::optional<JsonFields> JsonFields::object(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  return JsonFields(*value, where_ + ": " + std::string(key));
}

std::optional<std::vector<std::string>> JsonFields::strings(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_array()) wrong_type(key, "an array of strings");
  std::vector<std::string> result;
  for (const nlohmann::json& element : *value) {
    if (!element.is_string()) wrong_type(key, "an array of strings only");
    result.push_back(element.get<std::string>());
  }
  return result;
}

std::optional<std::vector<int64_t>> JsonFields::integer_or_list(std::string_view key) const {
  const nlohmann::json* value = find(key);
  if (value == nullptr) return std::nullopt;
  if (fits(*value)) return std::vector<int64_t>{value->get<int64_t>()};
  if (!value->is_array()) wrong_type(key, "an integer or an array of integers");
  std::vector<int64_t> result;
  for (const nlohmann::json& element : *value) {
    if (!fits(element)) wrong_type(key, "an array of integers below 2^63");
    result.push_back(element.get<int64_t>());
  }
  return result;
}

int64_t JsonFields::required_integer(std::string_view key) const {
  if (const auto value = integer(key)) return *value;
  fail(ErrorCode::kNotFound, "{}: {} is missing", where_, key);
}

double JsonFields::required_number(std::string_view key) const {
  if (const auto value = number(key)) return *value;
  fail(ErrorCode::kNotFound, "{}: {} is missing", where_, key);
}

}  // namespace gumbel
