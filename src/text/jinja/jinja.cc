#include "text/jinja/jinja.h"

#include <fmt/format.h>

#include "text/jinja/interpreter.h"
#include "text/jinja/parser.h"

namespace gumbel::jinja {

namespace {

constexpr std::size_t kLongestSource = 1U << 20U;

Syntax parse_bounded(std::string_view source) {
  if (source.size() > kLongestSource)
    refuse(fmt::format("a chat template of {} bytes exceeds {}", source.size(), kLongestSource));
  return parse(source);
}

}  // namespace

struct Template::Program {
  Syntax syntax;
};

Template::Template(std::string_view source)
    : program_(std::make_unique<const Program>(Program{parse_bounded(source)})) {}
Template::~Template() = default;
Template::Template(Template&&) noexcept = default;
Template& Template::operator=(Template&&) noexcept = default;

std::vector<Stretch> Template::render(const std::vector<std::pair<std::string, Value>>& variables,
                                      const Limits& limits) const {
  return Interpreter(variables, limits).render(program_->syntax.body).stretches();
}

bool Template::reads(std::string_view variable) const {
  return program_->syntax.names.contains(variable);
}

}  // namespace gumbel::jinja
