// What quantizing left as it was.
#pragma once

#include <string>

#include "program/program.h"

namespace gumbel::cli {

/// One line that says how many matrices of a program that was exported with --quantize q8 or q4
/// kept their source's precision because 32 does not divide their width, with their names where
/// they are four or fewer; empty where none did.
std::string kept_precision(const Program& program);

}  // namespace gumbel::cli
