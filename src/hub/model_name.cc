#include "hub/model_name.h"

#include <algorithm>

#include "base/error.h"
#include "base/quote.h"
#include "base/utf8.h"

namespace gumbel {
namespace {

constexpr size_t kMostNameBytes = 96;
constexpr size_t kMostPathBytes = 1024;
constexpr size_t kMostPartBytes = 255;

bool is_letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_sound_name(std::string_view name) {
  return !name.empty() && name.size() <= kMostNameBytes && is_letter_or_digit(name.front()) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return is_letter_or_digit(c) || c == '.' || c == '-' || c == '_';
         });
}

bool is_sound_text(std::string_view text) {
  while (!text.empty()) {
    const Utf8Step step = read_utf8(text);
    if (step.state != Utf8Step::State::kCharacter || step.character < 0x20 ||
        (step.character >= 0x7F && step.character < 0xA0))
      return false;
    text.remove_prefix(step.length);
  }
  return true;
}

}  // namespace

bool is_sound_path(std::string_view path) {
  if (path.size() > kMostPathBytes || !is_sound_text(path)) return false;
  while (true) {
    const size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part.size() > kMostPartBytes || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    path.remove_prefix(slash + 1);
  }
}

ModelName parse_model_name(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view repository = text.substr(0, colon);
  const size_t slash = repository.find('/');
  ModelName name;
  name.owner = repository.substr(0, slash);
  if (slash != std::string_view::npos) name.name = repository.substr(slash + 1);
  if (colon != std::string_view::npos) name.file = text.substr(colon + 1);
  const bool has_sound_file =
      colon == std::string_view::npos || (is_sound_path(name.file) && name.file.ends_with(".gguf"));
  if (!is_sound_name(name.owner) || !is_sound_name(name.name) || !has_sound_file)
    fail(ErrorCode::kInvalidArgument, "expected hf:OWNER/NAME or hf:OWNER/NAME:FILE.gguf, got {}",
         quote(fmt::format("hf:{}", text)));
  return name;
}

}  // namespace gumbel
