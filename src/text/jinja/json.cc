#include "text/jinja/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/printing.h"

namespace gumbel::jinja {

namespace {

class JsonWriter {
 public:
  JsonWriter(const JsonFormat& format, Budget& budget) : format_(format), budget_(budget) {}

  Text run(const Value& value) {
    write(value);
    return std::move(out_);
  }

 private:
  void add(std::string_view bytes, Origin origin = Origin::kTemplate) {
    budget_.take_bytes(bytes.size());
    out_.append(bytes, origin);
  }

  void write(const Value& value) {
    budget_.take_steps();
    if (const auto* text = get_if<Text>(value)) return write_string(*text);
    if (const auto* list = get_if<List>(value)) return write_list(*list);
    if (const auto* dict = get_if<Dict>(value)) return write_dict(*dict);
    add(scalar(value));
  }

  static std::string scalar(const Value& value) {
    if (is_none(value)) return "null";
    if (const auto* boolean = get_if<bool>(value)) return *boolean ? "true" : "false";
    if (const auto* integer = get_if<std::int64_t>(value)) return std::to_string(*integer);
    if (const auto* number = get_if<double>(value)) {
      if (std::isnan(*number)) return "NaN";
      if (std::isinf(*number)) return *number < 0 ? "-Infinity" : "Infinity";
      return spell_number(*number);
    }
    if (const auto* missing = get_if<Undefined>(value)) refuse(missing->what);
    refuse(fmt::format("{} has no JSON", type_name(value)));
  }

  void write_string(const Text& text) {
    add("\"");
    for (std::size_t at = 0; at < text.size();) {
      const std::string_view rest = text.view().substr(at);
      const std::size_t length = first_length(rest);
      const std::string escaped = escape(first_character(rest));
      add(escaped.empty() ? rest.substr(0, length) : std::string_view(escaped), text.origin_at(at));
      at += length;
    }
    add("\"");
  }

  // Empty for what stands for itself.
  std::string escape(char32_t character) const {
    static constexpr std::u32string_view kCharacters = U"\"\\\n\r\t\f\b";
    static constexpr std::string_view kLetters = "\"\\nrtfb";
    if (const std::size_t at = kCharacters.find(character); at != std::u32string_view::npos)
      return {'\\', kLetters[at]};
    auto code = static_cast<std::uint32_t>(character);
    if (code >= 0x20 && (!format_.ascii || code < 0x7F)) return {};
    if (code <= 0xFFFF) return fmt::format("\\u{:04x}", code);
    code -= 0x10000;
    return fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10U), 0xDC00 + (code & 0x3FFU));
  }

  void line_feed() {
    if (!format_.indent) return;
    add("\n");
    for (std::size_t level = 0; level < level_; ++level) add(*format_.indent);
  }

  // What stands between two items; Python leaves no space before a line feed unless told to.
  void separate() {
    add(format_.item_separator);
    line_feed();
  }

  void write_list(const List& list) {
    if (list.kind == List::Kind::kIterable)
      refuse("what is made to be gone through has no JSON: it needs the filter 'list'");
    if (list.items.empty()) return add("[]");
    add("[");
    ++level_;
    line_feed();
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      if (i != 0) separate();
      write(list.items[i]);
    }
    --level_;
    line_feed();
    add("]");
  }

  void write_key(const Value& key) {
    if (const auto* text = get_if<Text>(key)) return write_string(*text);
    add(fmt::format("\"{}\"", scalar(key)));
  }

  void write_dict(const Dict& dict) {
    if (dict.items.empty()) return add("{}");
    auto items = dict.items;
    if (format_.sort_keys) {
      std::stable_sort(items.begin(), items.end(), [&](const auto& left, const auto& right) {
        return less(left.first, right.first, budget_);
      });
    }
    add("{");
    ++level_;
    line_feed();
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i != 0) separate();
      write_key(items[i].first);
      add(format_.key_separator);
      write(items[i].second);
    }
    --level_;
    line_feed();
    add("}");
  }

  const JsonFormat& format_;
  Budget& budget_;
  std::size_t level_ = 0;
  Text out_;
};

}  // namespace

Text to_json(const Value& value, const JsonFormat& format, Budget& budget) {
  return JsonWriter(format, budget).run(value);
}

}  // namespace gumbel::jinja
