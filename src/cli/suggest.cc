#include "cli/suggest.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/quote.h"

namespace gumbel::cli {
namespace {

// Optimal string alignment: Levenshtein's distance with swaps of neighbours.
size_t edit_distance(std::string_view a, std::string_view b) {
  // table[i][j]: between the first i letters of a and the first j of b
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      const size_t other = a[i - 1] == b[j - 1] ? 0 : 1;
      size_t least =
          std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + other});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        least = std::min(least, table[i - 2][j - 2] + 1);
      table[i][j] = least;
    }
  return table[a.size()][b.size()];
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) names.push_back(command->get_name());
  return names;
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

// " (did you mean X?)", or nothing.
std::string question(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string meant = nearest(word, candidates);
  return meant.empty() ? "" : fmt::format(" (did you mean {}?)", meant);
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr size_t kLongest = 64;  // no name is longer
  if (word.size() > kLongest) return {};
  std::string best;
  size_t fewest = word.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance >= fewest) continue;
    fewest = distance;
    best = candidate;
  }
  return best;
}

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  std::vector<std::string> left = app.remaining(/*recurse=*/true);
  if (chosen.empty()) {
    const std::vector<std::string> names = command_names(app);
    const auto command = std::find_if(left.begin(), left.end(),
                                      [](const std::string& word) { return word[0] != '-'; });
    if (command == left.end() && !left.empty())
      return fmt::format("unknown option {}{}; gumbel --help lists the commands", quote(left[0]),
                         question(left[0], option_names(app)));
    if (command == left.end()) return fmt::format("expected a command: {}", fmt::join(names, ", "));
    return fmt::format("unknown command {}{}; expected {}", quote(*command),
                       question(*command, names), fmt::join(names, ", "));
  }
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                     dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  const std::string& name = chosen[0]->get_name();
  if (extra)
    for (const std::string& word : left) {
      if (word.size() > 1 && word[0] == '-') {
        const std::string option = word.substr(0, word.find('='));
        return fmt::format("{}: unknown option {}{}; gumbel {} --help lists the options", name,
                           quote(option), question(option, option_names(*chosen[0])), name);
      }
    }
  if (extra && !left.empty())
    return fmt::format("{}: expected no further argument, got {}", name, quote(left[0]));
  return fmt::format("{}: {}", name, error.what());
}

}  // namespace gumbel::cli
