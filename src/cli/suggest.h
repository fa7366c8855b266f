// What a misspelt command line was meant to be.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace gumbel::cli {

/// The candidate that takes the fewest edits (a letter more, less, another or swapped with its
/// neighbour) to become `word`; empty where that is more than a third of the word's letters. The
/// first of several.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

/// `error` in words for who typed the command line that `app` has just refused: an unknown command
/// or option is named, with the one that was probably meant.
std::string explain(const CLI::App& app, const CLI::ParseError& error);

}  // namespace gumbel::cli
