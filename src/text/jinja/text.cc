#include "text/jinja/text.h"

#include <algorithm>

namespace gumbel::jinja {

void Text::append(std::string_view bytes, Origin origin) {
  if (bytes.empty()) return;
  bytes_.append(bytes);
  if (runs_.empty() || runs_.back().origin != origin) runs_.push_back({0, origin});
  runs_.back().end = bytes_.size();
}

std::size_t Text::run_at(std::size_t position) const {
  const auto after = std::upper_bound(
      runs_.begin(), runs_.end(), position,
      [](std::size_t wanted, const Run& candidate) { return wanted < candidate.end; });
  return static_cast<std::size_t>(after - runs_.begin());
}

void Text::append_slice(const Text& text, std::size_t begin, std::size_t end) {
  end = std::min(end, text.size());
  for (std::size_t run = text.run_at(begin); begin < end; ++run) {
    const std::size_t stop = std::min(end, text.runs_[run].end);
    append(text.view().substr(begin, stop - begin), text.runs_[run].origin);
    begin = stop;
  }
}

Text Text::slice(std::size_t begin, std::size_t end) const {
  Text out;
  out.append_slice(*this, begin, end);
  return out;
}

Origin Text::origin_at(std::size_t position) const { return runs_[run_at(position)].origin; }

Origin Text::origin() const {
  const bool has_value = std::any_of(runs_.begin(), runs_.end(), [](const Run& candidate) {
    return candidate.origin == Origin::kValue;
  });
  return has_value ? Origin::kValue : Origin::kTemplate;
}

std::vector<Stretch> Text::stretches() const {
  std::vector<Stretch> out;
  std::size_t begin = 0;
  for (const Run& run : runs_) {
    out.push_back({bytes_.substr(begin, run.end - begin), run.origin});
    begin = run.end;
  }
  return out;
}

Text strip(const Text& text, Side side, const std::optional<std::string>& characters) {
  const auto stripped = [&](std::string_view character) {
    return characters ? characters->find(character) != std::string::npos
                      : is_space(first_character(character));
  };
  std::string_view rest = text.view();
  std::size_t begin = 0;
  while (side != Side::kRight && !rest.empty()) {
    const std::size_t length = first_length(rest);
    if (!stripped(rest.substr(0, length))) break;
    rest.remove_prefix(length);
    begin += length;
  }
  while (side != Side::kLeft && !rest.empty()) {
    const std::size_t length = last_length(rest);
    if (!stripped(rest.substr(rest.size() - length))) break;
    rest.remove_suffix(length);
  }
  return text.slice(begin, begin + rest.size());
}

}  // namespace gumbel::jinja
