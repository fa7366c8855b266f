// Names and messages from untrusted files, made fit for one line.
#pragma once

#include <gumbel/error.h>

#include <string>
#include <string_view>

namespace gumbel {

/// `text` in single quotes: bytes outside printable ASCII as \xNN, and cut after 96 bytes with
/// "...".
std::string quote(std::string_view text);

/// `text` with bytes outside printable ASCII as \xNN.
std::string printable(std::string_view text);

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
