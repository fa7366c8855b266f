// Typed access to the fields of a JSON object from an untrusted file.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gumbel {

/// Parses `text`. Throws Error(kCorruptFile), in one line that begins with `where`, where it is not
/// JSON or not an object.
nlohmann::json parse_json_object(std::string_view text, const std::string& where);

/// The fields of one JSON object. A field that is null counts as absent, as Hugging Face's readers
/// treat it, and a null object has none. Every getter throws Error(kCorruptFile) naming file and
/// key where the value has another type than the one asked for.
class JsonFields {
 public:
  /// `value` must be an object or null and outlive this; `where` begins messages, e.g.
  /// "config.json".
  JsonFields(const nlohmann::json& value, std::string where);

  const std::string& where() const { return where_; }
  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// Whether the key is there and null, for the few where that says something.
  bool is_null(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<double> number(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  std::optional<std::string> string(std::string_view key) const;
  std::optional<JsonFields> object(std::string_view key) const;
  std::optional<std::vector<std::string>> strings(std::string_view key) const;
  /// One integer or an array of them.
  std::optional<std::vector<int64_t>> integer_or_list(std::string_view key) const;
  /// The value itself, or null where it is absent.
  const nlohmann::json* find(std::string_view key) const;

  /// The value itself; null where it is absent.
  const nlohmann::json& value(std::string_view key) const;
  /// An array's elements; none where it is absent.
  const nlohmann::json& array(std::string_view key) const;
  std::string string_or(std::string_view key, std::string_view otherwise) const;
  bool boolean_or(std::string_view key, bool otherwise) const;

  /// The getter's value, or Error(kNotFound) naming the key.
  int64_t required_integer(std::string_view key) const;
  double required_number(std::string_view key) const;

 private:
  [[noreturn]] void wrong_type(std::string_view key, std::string_view expected) const;

  const nlohmann::json* value_;
  std::string where_;
};

}  // namespace gumbel
