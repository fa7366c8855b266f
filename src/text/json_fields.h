// Reading fields of JSON documents whose shape nothing has promised.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace gumbel {

/// Parses `text`; Throws Error(kCorruptFile), in one line that begins with `document`, where it is
/// not JSON or not an object.
nlohmann::json parse_json_object(std::string_view text, const char* document);

/// The member `key` of `object`, or null where there is none or `object` is not an object.
const nlohmann::json& json_field(const nlohmann::json& object, const char* key);

/// Typed members. An absent or null one is `otherwise`; one of another type throws
/// Error(kCorruptFile) that names it.
std::string json_string(const nlohmann::json& object, const char* key, const char* otherwise = "");
bool json_bool(const nlohmann::json& object, const char* key, bool otherwise);

/// A member that must be an array (else Error(kCorruptFile)); an absent one is empty.
const nlohmann::json& json_array(const nlohmann::json& object, const char* key);

}  // namespace gumbel
