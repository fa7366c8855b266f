// JSON from untrusted files.
#pragma once

#include <cstddef>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace gumbel {

/// Parses `text`. Throws Error(kCorruptFile), its message starting with `where`, on a syntax error,
/// invalid UTF-8, a key that stands twice in one object, or nesting deeper than 64.
nlohmann::json parse_strict_json(std::string_view text, std::string_view where);

/// Reads and parses a file of at most `max_bytes`; more is Error(kCorruptFile).
nlohmann::json read_strict_json(const std::filesystem::path& path, size_t max_bytes = 1u << 26);

/// The whole of a text file of at most `max_bytes`; more is Error(kCorruptFile).
std::string read_text_file(const std::filesystem::path& path, size_t max_bytes = 1u << 26);

}  // namespace gumbel
