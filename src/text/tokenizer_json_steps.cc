#include "text/tokenizer_json_steps.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <string_view>

#include "base/error.h"
#include "base/quote.h"

namespace gumbel {
namespace {

using nlohmann::json;

constexpr const char* kSpaceMark = "\xE2\x96\x81";  // "▁"
constexpr const char* kByteLevelPattern =
    R"('(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

[[noreturn]] void refuse(const char* section, std::string_view what) {
  fail(ErrorCode::kUnsupported, "tokenizer.json: {} {} is not supported", section, what);
}

// Calls `visit(component, type)` for a component, or for each of a Sequence's.
void for_each_component(const json& component, const char* list_key,
                        const std::function<void(const json&, const std::string&)>& visit) {
  if (component.is_null()) return;
  const std::string type = fields(component).string_or("type", "");
  if (type != "Sequence") return visit(component, type);
  for (const json& inner : fields(component).array(list_key))
    visit(inner, fields(inner).string_or("type", ""));
}

// The text of {"String": …}, or "" for another pattern.
std::string string_pattern(const json& component) {
  return fields(fields(component).value("pattern")).string_or("String", "");
}

bool is_replacement(const json& component, const std::string& from, const std::string& to) {
  return string_pattern(component) == from && fields(component).string_or("content", "") == to;
}

std::string escaped(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    // A backslash makes any ASCII character that is not a letter or digit stand for itself.
    if (byte < 0x80 && !std::isalnum(byte)) pattern += '\\';
    pattern += c;
  }
  return pattern;
}

// Oniguruma, for which these patterns are written, and PCRE2 differ in a few things that would go
// unnoticed: \h is a hexadecimal digit there, and classes nest.
void check_dialect(const std::string& pattern) {
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    const char next = i + 1 < pattern.size() ? pattern[i + 1] : '\0';
    if (c == '\\') {
      if (next == 'h' || next == 'H') refuse("pattern", "with \\h");
      ++i;
    } else if (in_class && c == '[' && next != ':') {
      refuse("pattern", "with a class in a class");
    } else if (in_class && c == '&' && next == '&') {
      refuse("pattern", "with &&");
    } else if (c == '[' && !in_class) {
      in_class = true;
      if (next == '^') ++i;
    } else if (in_class && c == '[') {
      i = std::min(pattern.find(":]", i), pattern.size() - 2) + 1;
    } else if (c == ']') {
      in_class = false;
    }
  }
}

SplitBehavior split_behavior(const std::string& name) {
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  refuse("split behavior", quote(name));
}

SplitStep split_step(const json& component) {
  SplitStep step;
  const std::string text = string_pattern(component);
  const std::string regex = fields(fields(component).value("pattern")).string_or("Regex", "");
  if (text.empty() && regex.empty()) refuse("pre_tokenizer", "Split without a pattern");
  if (!regex.empty()) check_dialect(regex);
  step.pattern = regex.empty() ? escaped(text) : regex;
  step.behavior = split_behavior(fields(component).string_or("behavior", ""));
  step.invert = fields(component).boolean_or("invert", false);
  return step;
}

// What the sections have said so far.
struct Reading {
  TokenizerDefinition& definition;
  bool byte_level = false;
  bool marks_spaces = false;  // spaces become "▁"
};

void read_normalizer(const json& component, const std::string& type, Reading& reading) {
  if (type == "NFC") {
    reading.definition.normalization = Normalization::kNfc;
  } else if (type == "Replace" && is_replacement(component, " ", kSpaceMark)) {
    reading.marks_spaces = true;
  } else if (type == "Prepend" && fields(component).string_or("prepend", "") == kSpaceMark) {
    reading.definition.space_prefix = SpacePrefix::kAlways;
  } else {
    refuse("normalizer",
           type == "Replace" ? "Replace of anything but \" \" by \"▁\"" : quote(type));
  }
}

void read_metaspace(const json& component, Reading& reading) {
  if (fields(component).string_or("replacement", kSpaceMark) != kSpaceMark) {
    refuse("pre_tokenizer", "Metaspace with another mark than \"▁\"");
  }
  const bool prefixes = fields(component).boolean_or("add_prefix_space", true);
  const std::string scheme =
      fields(component).string_or("prepend_scheme", prefixes ? "always" : "never");
  if (scheme == "always") {
    reading.definition.space_prefix = SpacePrefix::kEveryStretchUnlessSpace;
  } else if (scheme == "first") {
    reading.definition.space_prefix = SpacePrefix::kFirstUnlessSpace;
  } else if (scheme != "never") {
    refuse("pre_tokenizer", "Metaspace with prepend_scheme " + quote(scheme));
  }
  reading.marks_spaces = true;
  if (fields(component).boolean_or("split", true)) {
    reading.definition.pre_tokenizer.push_back({kSpaceMark, SplitBehavior::kMergedWithNext});
  }
}

void read_pre_tokenizer(const json& component, const std::string& type, Reading& reading) {
  auto& steps = reading.definition.pre_tokenizer;
  if (reading.byte_level) refuse("pre_tokenizer", quote(type) + " after ByteLevel");
  if (type == "ByteLevel") {
    reading.byte_level = true;
    if (fields(component).boolean_or("add_prefix_space", true)) {
      if (!steps.empty()) refuse("pre_tokenizer", "ByteLevel with add_prefix_space after a split");
      reading.definition.space_prefix = SpacePrefix::kEveryStretchUnlessSpace;
    }
    if (fields(component).boolean_or("use_regex", true)) steps.push_back({kByteLevelPattern});
  } else if (type == "Split") {
    steps.push_back(split_step(component));
  } else if (type == "Digits") {
    const bool single = fields(component).boolean_or("individual_digits", false);
    steps.push_back({R"(\p{N})", single ? SplitBehavior::kIsolated : SplitBehavior::kContiguous});
  } else if (type == "Metaspace") {
    if (!steps.empty()) refuse("pre_tokenizer", "Metaspace after a split");
    read_metaspace(component, reading);
  } else {
    refuse("pre_tokenizer", quote(type));
  }
}

void read_decoder(const json& component, const std::string& type, Reading& reading) {
  if (reading.byte_level) {
    if (type != "ByteLevel") refuse("decoder", quote(type) + " of a byte-level tokenizer");
  } else if (type == "Strip") {
    const json& start = fields(component).value("start");
    const json& stop = fields(component).value("stop");
    if (fields(component).string_or("content", "") != " " || start != 1 || stop != 0) {
      refuse("decoder", "Strip of anything but one leading space");
    }
    reading.definition.decode_strips_prefix = true;
  } else if (type == "Metaspace") {
    const bool prefixes = fields(component).boolean_or("add_prefix_space", true);
    reading.definition.decode_strips_prefix =
        fields(component).string_or("prepend_scheme", prefixes ? "always" : "never") != "never";
  } else if (type == "Replace") {
    if (!is_replacement(component, kSpaceMark, " ")) {
      refuse("decoder", "Replace of anything but \"▁\" by \" \"");
    }
  } else if (type != "ByteFallback" && type != "Fuse") {
    refuse("decoder", quote(type));
  }
}

}  // namespace

void read_tokenizer_steps(const json& document, TokenizerDefinition& definition) {
  Reading reading{definition};
  const auto read = [&](const char* section, const char* list_key, auto reader) {
    for_each_component(
        fields(document).value(section), list_key,
        [&](const json& component, const std::string& type) { reader(component, type, reading); });
  };
  read("normalizer", "normalizers", read_normalizer);
  read("pre_tokenizer", "pretokenizers", read_pre_tokenizer);
  if (fields(document).value("decoder").is_null()) refuse("decoder", "null");
  read("decoder", "decoders", read_decoder);
  if (reading.byte_level == reading.marks_spaces) {
    refuse("tokenizer", reading.byte_level ? "with both ByteLevel and \"▁\""
                                           : "with neither ByteLevel nor \"▁\" for spaces");
  }
  definition.kind = reading.byte_level ? TokenizerKind::kByteLevel : TokenizerKind::kSentencePiece;
  definition.spaces_in_all_tokens = true;
}

}  // namespace gumbel
