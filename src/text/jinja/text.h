// Strings that know who wrote each of their bytes.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/characters.h"
#include "text/jinja/jinja.h"

namespace gumbel::jinja {

/// UTF-8 with an Origin for every byte. All positions are bytes.
class Text {
 public:
  Text() = default;
  explicit Text(std::string_view bytes, Origin origin = Origin::kTemplate) {
    append(bytes, origin);
  }

  std::string_view view() const { return bytes_; }
  std::size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }

  void append(std::string_view bytes, Origin origin);
  void append(const Text& text) { append_slice(text, 0, text.size()); }
  /// Appends bytes [begin, end) of `text`, another string.
  void append_slice(const Text& text, std::size_t begin, std::size_t end);

  Text slice(std::size_t begin, std::size_t end = std::string_view::npos) const;
  /// Of the byte at `position`, which must be one of the text's.
  Origin origin_at(std::size_t position) const;
  /// kValue if any byte is a value's: the origin of what is computed from the whole text.
  Origin origin() const;

  /// Neighbours differ in origin, none is empty.
  std::vector<Stretch> stretches() const;

 private:
  struct Run {
    std::size_t end;
    Origin origin;
  };
  std::size_t run_at(std::size_t position) const;

  std::string bytes_;
  std::vector<Run> runs_;  // neighbours differ in origin, none is empty, the last ends the bytes
};

/// `text` without the characters of `characters`, without which white space, at its ends.
Text strip(const Text& text, Side side, const std::optional<std::string>& characters);

}  // namespace gumbel::jinja
