// Text of untrusted files within messages, made fit for one line.
#pragma once

#include <gumbel/error.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace gumbel {

/// `text` in one line of valid UTF-8: the bytes of control characters, of what breaks or reorders a
/// line, and of what is no character are written \xNN. Cut after `limit` bytes, where "..." stands
/// for the rest.
std::string printable(std::string_view text, std::size_t limit = std::string_view::npos);

/// The same in single quotes.
std::string quote(std::string_view text, std::size_t limit = 96);

/// What `read` returns. An Error that it throws is thrown on with `file` before a printable
/// message: for readers that do not know of files and may echo their contents.
template <typename Read>
auto with_file_name(const std::string& file, const Read& read) {
  try {
    return read();
  } catch (const Error& error) {
    throw Error(error.code(), file + ": " + printable(error.what()));
  }
}

}  // namespace gumbel
