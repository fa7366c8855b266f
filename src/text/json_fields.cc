#include "text/json_fields.h"

#include "base/error.h"
#include "text/quote.h"

namespace gumbel {

using nlohmann::json;

json parse_json_object(std::string_view text, const char* document) {
  json value;
  try {
    value = json::parse(text);
  } catch (const json::exception& error) {
    // The message may hold a whole string of the document.
    fail(ErrorCode::kCorruptFile, "{}: not JSON: {}", document, quote_text(error.what(), 160));
  }
  if (!value.is_object()) {
    fail(ErrorCode::kCorruptFile, "{}: expected an object, got {}", document, value.type_name());
  }
  return value;
}

const json& json_field(const json& object, const char* key) {
  static const json null;
  if (!object.is_object()) return null;
  const auto found = object.find(key);
  return found == object.end() ? null : *found;
}

std::string json_string(const json& object, const char* key, const char* otherwise) {
  const json& value = json_field(object, key);
  if (value.is_null()) return otherwise;
  if (!value.is_string()) {
    fail(ErrorCode::kCorruptFile, "\"{}\": expected a string, got {}", key, value.type_name());
  }
  return value.get<std::string>();
}

bool json_bool(const json& object, const char* key, bool otherwise) {
  const json& value = json_field(object, key);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean()) {
    fail(ErrorCode::kCorruptFile, "\"{}\": expected a boolean, got {}", key, value.type_name());
  }
  return value.get<bool>();
}

const json& json_array(const json& object, const char* key) {
  static const json empty = json::array();
  const json& value = json_field(object, key);
  if (value.is_null()) return empty;
  if (!value.is_array()) {
    fail(ErrorCode::kCorruptFile, "\"{}\": expected an array, got {}", key, value.type_name());
  }
  return value;
}

}  // namespace gumbel
