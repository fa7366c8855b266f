#include "text/jinja/text_functions.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>
#include <charconv>

#include "base/quote.h"
#include "base/utf8.h"
#include "text/jinja/printing.h"

namespace gumbel::jinja {

namespace {

bool is_cased(char32_t character) {
  const auto code = static_cast<utf8proc_int32_t>(character);
  return utf8proc_toupper(code) != code || utf8proc_tolower(code) != code;
}

// `spelling` is the character's own; `title` is for the first of a capitalized word.
std::string map_character(char32_t character, std::string_view spelling, bool upper, bool title) {
  if (character == U'\uFFFD') return std::string(spelling);  // no character
  if (character == U'ß' && (upper || title)) return title ? "Ss" : "SS";
  const auto code = static_cast<utf8proc_int32_t>(character);
  std::string mapped;
  append_utf8(mapped, static_cast<char32_t>(title   ? utf8proc_totitle(code)
                                            : upper ? utf8proc_toupper(code)
                                                    : utf8proc_tolower(code)));
  return mapped;
}

// Splitting by white space, from the left: parts are [begin, end) of the text.
struct Part {
  std::size_t begin;
  std::size_t end;
};

std::vector<Part> words(std::string_view text, std::size_t count) {
  std::vector<Part> parts;
  std::size_t at = 0;
  for (;;) {
    at = text.size() - strip_white_space(text.substr(at), Side::kLeft).size();
    if (at == text.size()) return parts;
    if (parts.size() == count) {
      parts.push_back({at, text.size()});
      return parts;
    }
    const std::size_t begin = at;
    while (at < text.size() && !is_space(first_character(text.substr(at))))
      at += first_length(text.substr(at));
    parts.push_back({begin, at});
  }
}

std::vector<Part> words_from_right(std::string_view text, std::size_t count) {
  std::vector<Part> parts;
  std::size_t end = text.size();
  for (;;) {
    end = strip_white_space(text.substr(0, end), Side::kRight).size();
    if (end == 0) break;
    if (parts.size() == count) {
      parts.push_back({0, end});
      break;
    }
    std::size_t begin = end;
    while (begin > 0) {
      const std::size_t length = last_length(text.substr(0, begin));
      if (is_space(first_character(text.substr(begin - length, length)))) break;
      begin -= length;
    }
    parts.push_back({begin, end});
    end = begin;
  }
  std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<Part> parts_between(std::string_view text, std::string_view separator,
                                std::size_t count) {
  std::vector<Part> parts;
  std::size_t begin = 0;
  while (parts.size() < count) {
    const std::size_t end = text.find(separator, begin);
    if (end == std::string_view::npos) break;
    parts.push_back({begin, end});
    begin = end + separator.size();
  }
  parts.push_back({begin, text.size()});
  return parts;
}

std::vector<Part> parts_between_from_right(std::string_view text, std::string_view separator,
                                           std::size_t count) {
  std::vector<Part> parts;
  std::size_t end = text.size();
  while (parts.size() < count && end >= separator.size()) {
    const std::size_t begin = text.rfind(separator, end - separator.size());
    if (begin == std::string_view::npos) break;
    parts.push_back({begin + separator.size(), end});
    end = begin;
  }
  parts.push_back({0, end});
  std::reverse(parts.begin(), parts.end());
  return parts;
}

}  // namespace

Text change_case(const Text& text, Case wanted, Budget& budget) {
  budget.take_steps(text.size());
  budget.take_bytes(2 * text.size());
  Text out;
  bool in_word = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.view().substr(at);
    const std::size_t length = first_length(rest);
    const char32_t character = first_character(rest);
    const bool begins = wanted == Case::kTitle ? !in_word : at == 0;
    const bool first = begins && (wanted == Case::kTitle || wanted == Case::kCapitalized);
    in_word = is_cased(character);
    out.append(map_character(character, rest.substr(0, length), wanted == Case::kUpper, first),
               text.origin_at(at));
    at += length;
  }
  return out;
}

Text replace(const Text& text, const Text& from, const Text& to, std::size_t count,
             Budget& budget) {
  take_search(text, from, budget);
  Text out;
  std::size_t begin = 0;
  const auto put = [&](std::size_t at) {
    budget.take_bytes(at - begin + to.size());
    out.append_slice(text, begin, at);
    out.append(to);
  };
  if (from.empty()) {
    for (std::size_t at = 0; count > 0; --count) {
      put(at);
      begin = at;
      if (at == text.size()) break;
      at += first_length(text.view().substr(at));
    }
  }
  for (; !from.empty() && count > 0; --count) {
    const std::size_t at = text.view().find(from.view(), begin);
    if (at == std::string_view::npos) break;
    put(at);
    begin = at + from.size();
  }
  budget.take_bytes(text.size() - begin);
  out.append_slice(text, begin, text.size());
  return out;
}

std::vector<Value> split(const Text& text, const Text* separator, std::size_t count,
                         bool from_right, Budget& budget) {
  std::vector<Part> parts;
  if (separator == nullptr) {
    budget.take_steps(text.size());
    parts = from_right ? words_from_right(text.view(), count) : words(text.view(), count);
  } else {
    if (separator->empty()) refuse("the separator of a split is empty");
    take_search(text, *separator, budget);
    parts = from_right ? parts_between_from_right(text.view(), separator->view(), count)
                       : parts_between(text.view(), separator->view(), count);
  }
  budget.take_bytes(text.size() + parts.size() * sizeof(Value::Data));
  std::vector<Value> values;
  values.reserve(parts.size());
  for (const Part& part : parts) values.push_back(make_value(text.slice(part.begin, part.end)));
  return values;
}

std::vector<Value> split_lines(const Text& text, bool keep_ends, Budget& budget) {
  static constexpr std::u32string_view kEnds = U"\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029";
  budget.take_steps(text.size());
  std::vector<Value> lines;
  std::size_t begin = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = text.view().substr(at);
    const std::size_t length = rest.starts_with("\r\n") ? 2 : first_length(rest);
    if (kEnds.find(first_character(rest)) != std::u32string_view::npos) {
      budget.take_bytes(sizeof(Value::Data) + at - begin);
      lines.push_back(make_value(text.slice(begin, keep_ends ? at + length : at)));
      begin = at + length;
    }
    at += length;
  }
  if (begin < text.size()) lines.push_back(make_value(text.slice(begin)));
  return lines;
}

Text join(const std::vector<Value>& items, const Text& separator, Budget& budget) {
  Text out;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (i != 0) {
      budget.take_bytes(separator.size());
      out.append(separator);
    }
    out.append(to_text(items[i], budget));
  }
  return out;
}

std::optional<std::size_t> find(const Text& text, const Text& part, std::size_t begin,
                                std::size_t end, bool from_right, Budget& budget) {
  take_search(text, part, budget);
  if (begin > end) return std::nullopt;
  const std::string_view within = text.view().substr(begin, end - begin);
  const std::size_t at = from_right ? within.rfind(part.view()) : within.find(part.view());
  if (at == std::string_view::npos) return std::nullopt;
  return begin + at;
}

std::size_t count_occurrences(const Text& text, const Text& part, Budget& budget) {
  take_search(text, part, budget);
  if (part.empty()) return count_characters(text.view()) + 1;
  return parts_between(text.view(), part.view(), kAll).size() - 1;
}

Text justify(const Text& text, std::int64_t width, const Text& fill, Side side, Budget& budget) {
  budget.take_steps(text.size() / 16);
  if (count_characters(fill.view()) != 1) refuse("a field is filled by one character");
  const auto size = static_cast<std::int64_t>(count_characters(text.view()));
  budget.take_bytes(text.size());
  if (width <= size) return text;
  const std::int64_t padding = width - size;
  // Python's str.center puts the odd one to the left where the width is odd.
  const std::int64_t left = side == Side::kLeft    ? 0
                            : side == Side::kRight ? padding
                                                   : padding / 2 + (padding & width & 1);
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(static_cast<std::size_t>(padding), fill.size(), &bytes)) bytes = kAll;
  budget.take_bytes(bytes);
  Text out;
  for (std::int64_t i = 0; i < left; ++i) out.append(fill);
  out.append(text);
  for (std::int64_t i = left; i < padding; ++i) out.append(fill);
  return out;
}

namespace {

// What the field `name` of a format stands for; `next` counts the fields without a name.
const Value& field(std::string_view name, const Arguments& arguments, std::size_t& next) {
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
  const bool is_index = error == std::errc() && end == name.data() + name.size();
  if (name.empty()) index = next++;
  if (name.empty() || is_index) {
    if (index < arguments.positional.size()) return arguments.positional[index];
    refuse(fmt::format("a format has no argument {}", index));
  }
  const auto found = std::find_if(arguments.named.begin(), arguments.named.end(),
                                  [&](const auto& argument) { return argument.first == name; });
  if (found == arguments.named.end())
    refuse(fmt::format("a format has no argument {}", quote(name)));
  return found->second;
}

}  // namespace

Text format(const Text& pattern, const Arguments& arguments, Budget& budget) {
  Text out;
  std::size_t next = 0;
  const std::string_view view = pattern.view();
  for (std::size_t at = 0; at < view.size();) {
    const std::size_t brace = std::min(view.find_first_of("{}", at), view.size());
    budget.take_bytes(brace - at);
    out.append_slice(pattern, at, brace);
    if (brace == view.size()) break;
    if (brace + 1 < view.size() && view[brace + 1] == view[brace]) {
      out.append_slice(pattern, brace, brace + 1);
      at = brace + 2;
      continue;
    }
    const std::size_t end = view.find('}', brace);
    if (view[brace] == '}' || end == std::string_view::npos)
      refuse("a brace of a format stands alone");
    const std::string_view name = view.substr(brace + 1, end - brace - 1);
    if (name.find_first_of("!:.[{") != std::string_view::npos)
      refuse(fmt::format("the format {} is not supported", quote(name)));
    out.append(to_text(field(name, arguments, next), budget));
    at = end + 1;
  }
  return out;
}

}  // namespace gumbel::jinja
