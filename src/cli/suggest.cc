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
  for (const CLI::App* command : app.get_subcommands({}))
    if (!command->get_name().empty()) names.push_back(command->get_name());  // a group has none
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

namespace {

// `path` is what was typed to get to `app`, "gumbel" or a command of it that has commands itself;
// `where` is how a message on it begins.
std::string explain_at(const CLI::App& app, const std::string& path, const std::string& where,
                       const CLI::ParseError& error) {
  const std::vector<CLI::App*> chosen = app.get_subcommands();
  std::vector<std::string> left = app.remaining(/*recurse=*/true);
  if (chosen.empty()) {
    const std::vector<std::string> names = command_names(app);
    const auto command = std::find_if(left.begin(), left.end(),
                                      [](const std::string& word) { return word[0] != '-'; });
    if (command == left.end() && !left.empty())
      return fmt::format("{}unknown option {}{}; {} --help lists the commands", where,
                         quote(left[0]), question(left[0], option_names(app)), path);
    if (command == left.end())
      return fmt::format("{}expected a command: {}", where, fmt::join(names, ", "));
    return fmt::format("{}unknown command {}{}; expected {}", where, quote(*command),
                       question(*command, names), fmt::join(names, ", "));
  }
  const CLI::App& command = *chosen[0];
  const std::string command_path = fmt::format("{} {}", path, command.get_name());
  const std::string command_where = fmt::format("{}{}: ", where, command.get_name());
  if (!command_names(command).empty())
    return explain_at(command, command_path, command_where, error);
  const bool extra = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr ||
                     dynamic_cast<const CLI::RequiredError*>(&error) != nullptr;
  if (extra)
    for (const std::string& word : left) {
      if (word.size() > 1 && word[0] == '-') {
        const std::string option = word.substr(0, word.find('='));
        return fmt::format("{}unknown option {}{}; {} --help lists the options", command_where,
                           quote(option), question(option, option_names(command)), command_path);
      }
    }
  if (extra && !left.empty())
    return fmt::format("{}expected no further argument, got {}", command_where, quote(left[0]));
  return fmt::format("{}{}", command_where, error.what());
}

}  // namespace

std::string explain(const CLI::App& app, const CLI::ParseError& error) {
  return explain_at(app, "gumbel", "", error);
}

}  // namespace gumbel::cli
