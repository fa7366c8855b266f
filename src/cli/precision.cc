#include "cli/precision.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string_view>
#include <vector>

namespace gumbel::cli {

std::string kept_precision(const Program& program) {
  constexpr size_t kFew = 4;
  const auto asked = program.provenance.find("quantize");
  if (asked == program.provenance.end() || asked->second == "none") return {};
  std::vector<std::string_view> names;
  for (const WeightInfo& weight : program.weights)
    if (weight.shape.size() >= 2 && weight.columns() % 32 != 0) names.push_back(weight.name);
  if (names.empty()) return {};
  std::string line =
      names.size() == 1
          ? "1 matrix keeps the source's precision, as 32 does not divide its width"
          : fmt::format(
                "{} matrices keep the source's precision, as 32 does not divide their width",
                names.size());
  if (names.size() <= kFew) line += fmt::format(": {}", fmt::join(names, ", "));
  return line;
}

}  // namespace gumbel::cli
