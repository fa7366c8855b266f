// Hostile templates: each is refused with an error, in bounded work and memory.
#include <gtest/gtest.h>
#include <gumbel/error.h>

#include <nlohmann/json.hpp>
#include <string>

#include "text/jinja/jinja.h"

namespace gumbel::jinja {
namespace {

std::string repeated(const std::string& part, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += part;
  return text;
}

// The message with which the template is refused, at its reading or when rendered.
std::string refusal(const std::string& source, const Limits& limits = {}) {
  try {
    Template(source).render({}, limits);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    return error.what();
  }
  return "";
}

void expect_refusal(const std::string& source, const std::string& part, const Limits& limits = {}) {
  EXPECT_NE(refusal(source, limits).find(part), std::string::npos) << source.substr(0, 200) << "\n"
                                                                   << refusal(source, limits);
}

TEST(JinjaLimits, SourcesThatNestAreRefusedBeforeTheStackEnds) {
  for (const auto& [open, close] : {std::pair<std::string, std::string>{"(", ")"},
                                    {"[", "]"},
                                    {"{1:", "}"},
                                    {"-", ""},
                                    {"not ", ""},
                                    {"f(", ")"},
                                    {"x[", "]"},
                                    {"1 if x else ", ""},
                                    {"x|f(", ")"},
                                    {"x is t(", ")"}}) {
    const std::string nested = repeated(open, 50'000) + "1" + repeated(close, 50'000);
    expect_refusal("{{ " + nested + " }}", "deeper");
  }
  for (const std::string chain : {".a", "[0]", "()", "|trim", "+1", "*1", "**1", " if x"})
    expect_refusal("{{ x" + repeated(chain, 100'000) + " }}", "deeper");
  for (const std::string block :
       {"{% if x %}", "{% for a in b %}", "{% macro m() %}", "{% call m() %}", "{% set a %}",
        "{% filter trim %}", "{% with %}", "{% generation %}"})
    expect_refusal(repeated(block, 20'000), "deeper");
  expect_refusal("{% for " + repeated("(", 50'000) + "a" + repeated(")", 50'000) + " in b %}",
                 "deeper");
}

TEST(JinjaLimits, LongSourcesThatDoNotNestAreTaken) {
  EXPECT_EQ(refusal("{{ 1" + repeated(" ~ 1", 10'000) + " }}"), "");
  EXPECT_EQ(refusal("{{ x" + repeated(" or x", 10'000) + " }}"), "");
  EXPECT_EQ(refusal("{{ [1" + repeated(", 1", 10'000) + "] }}"), "");
  EXPECT_EQ(refusal("{% if x %}" + repeated("{% elif x %}", 10'000) + "{% endif %}"), "");
  expect_refusal(std::string((1U << 20U) + 1, 'x'), "1048577 bytes");
}

TEST(JinjaLimits, MacrosThatCallThemselvesAreRefused) {
  expect_refusal("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "deeper");
  expect_refusal("{% macro m(a) %}{{ m(m(a)) }}{% endmacro %}{{ m(1) }}", "deeper");
  expect_refusal("{% macro m() %}{% call m() %}{% endcall %}{{ caller }}{% endmacro %}{{ m() }}",
                 "deeper");
  expect_refusal("{% macro m(a=m()) %}{% endmacro %}{{ m() }}", "deeper");
}

TEST(JinjaLimits, WorkIsBounded) {
  const Limits few{.steps = 1'000'000};
  const std::string loops =
      repeated("{% for a in range(100000) %}", 5) + "x" + repeated("{% endfor %}", 5);
  expect_refusal(loops, "more than", few);
  expect_refusal("{{ range(100001) }}", "more than 100000 items");
  expect_refusal("{{ range(0, 9223372036854775807, 9223372036854775807) | length }}" + loops,
                 "more than", few);
  const std::string slow = "{% set a = 'a' * 1000000 %}{% for i in range(100000) %}";
  for (const std::string search :
       {"a.find(a[1:] ~ 'b')", "a.count(a[1:] ~ 'b')", "(a ~ 'b') in a", "a == a ~ ''",
        "a | length", "a[5]", "a | upper", "a.split(a ~ 'b')", "a | trim", "a < a"})
    expect_refusal(slow + "{% set b = " + search + " %}{% endfor %}", "more than", few);
}

TEST(JinjaLimits, MemoryIsBoundedBeforeItIsTaken) {
  for (const std::string big :
       {"'x' * 9223372036854775807", "[1] * 9223372036854775807",
        "'xy'.center(9223372036854775807)", "'x'.zfill(9223372036854775807)",
        "'x'.zfill(-9223372036854775807 - 1)", "'x' | indent(9223372036854775807)",
        "[1] | tojson(indent=9223372036854775807)", "[1] | batch(9223372036854775807, 0) | list"}) {
    const std::string message = refusal("{{ " + big + " }}");
    if (big.find("-9223") == std::string::npos) {
      EXPECT_NE(message.find("more than"), std::string::npos) << big << ": " << message;
    }
  }
  for (const std::string growing :
       {"a ~ a", "a + a", "a * 2", "a | replace('x', 'xx')", "[a, a] | join", "(a, a) | string",
        "[a, a] | tojson", "a.join(['x', a])", "'{0}{0}'.format(a)"}) {
    const std::string source =
        "{% set ns = namespace(a='x') %}{% for i in range(100) %}"
        "{% set a = ns.a %}{% set ns.a = " +
        growing + " %}{% endfor %}";
    expect_refusal(source, "bytes");
  }
  expect_refusal(
      "{% set ns = namespace(a=[1]) %}{% for i in range(100) %}"
      "{% set ns.a = ns.a + ns.a %}{% endfor %}",
      "bytes");
  expect_refusal("{% for i in range(100000) %}{{ 'x' * 100 }}{% endfor %}", "1000 bytes",
                 {.steps = 10'000'000, .bytes = 1000});
}

TEST(JinjaLimits, ValuesThatNestAreRefused) {
  for (const std::string nested :
       {"[ns.a]", "(ns.a,)", "{'a': ns.a}", "{(ns.a,): 1}", "dict(a=ns.a)",
        "[ns.a] | map('list') | list", "{'a': ns.a} | items | list"})
    expect_refusal("{% set ns = namespace(a=[]) %}{% for i in range(100000) %}{% set ns.a = " +
                       nested + " %}{% endfor %}",
                   "deeper");
  nlohmann::ordered_json json = 1;
  for (std::size_t i = 0; i < 200; ++i) json = nlohmann::ordered_json::array({json});
  EXPECT_THROW(Value::from_json(json), Error);
}

TEST(JinjaLimits, WhatHoldsItselfIsLetGo) {  // the sanitizers look for what is not
  EXPECT_EQ(refusal("{% set ns = namespace() %}{% set ns.a = ns %}{% set ns.b = [ns] %}"), "");
  EXPECT_EQ(refusal("{% set ns = namespace() %}{% for i in range(100000) %}"
                    "{% set ns.a = namespace(a=ns.a) %}{% endfor %}"),
            "");
  EXPECT_EQ(refusal("{% set ns = namespace(a=1) %}{% for i in range(50000) %}"
                    "{% for j in [ns.a] %}{% set ns.a = loop %}{% endfor %}{% endfor %}"),
            "");
  EXPECT_EQ(refusal("{% for i in [1, 2] %}{% set a = loop.changed(loop) %}{% endfor %}"), "");
  expect_refusal(
      "{% for i in [1, 2] %}{% set a = loop.changed([loop]) %}"
      "{{ raise_exception('x') }}{% endfor %}",
      "x");
  EXPECT_EQ(refusal("{% set ns = namespace() %}{% macro m() %}{% endmacro %}{% set ns.m = m %}"),
            "");
}

TEST(JinjaLimits, ArithmeticBeyond64BitsIsRefused) {
  for (const std::string source :
       {"9223372036854775807 + 1", "-9223372036854775807 - 2", "9223372036854775807 * 2", "2 ** 63",
        "(-9223372036854775807 - 1) // -1", "-(-9223372036854775807 - 1)",
        "(-9223372036854775807 - 1) | abs", "9223372036854775808", "1e300 | int",
        "'9223372036854775808' | int", "[9223372036854775807, 1] | sum"})
    expect_refusal("{{ " + source + " }}", "64 bits");
  expect_refusal("{{ 1 / 0 }}", "zero");
  expect_refusal("{{ 1 % 0.0 }}", "zero");
  EXPECT_EQ(refusal("{{ (-9223372036854775807 - 1) % -1 }}"), "");
  EXPECT_EQ(refusal("{{ 'abc'[::-9223372036854775807 - 1] }}"), "");
  EXPECT_EQ(refusal("{{ 'abc'[-9223372036854775807 - 1:9223372036854775807] }}"), "");
}

TEST(JinjaLimits, ErrorsNameTheirLine) {
  EXPECT_EQ(refusal("a\n{{ b.c }}\n"), "chat template, line 2: 'b' is undefined");
  EXPECT_EQ(refusal("a\n\n{% if %}"),
            "chat template, line 3: expected a value, found the end of the tag");
  EXPECT_EQ(refusal("{{ raise_exception('Roles must alternate') }}"),
            "chat template, line 1: Roles must alternate");
}

TEST(JinjaLimits, StatementsThatReadOtherFilesAreRefusedByName) {
  for (const std::string word :
       {"include", "extends", "import", "from", "block", "autoescape", "do"})
    expect_refusal("{% " + word + " 'x' %}", "'" + word + "' is no statement");
  expect_refusal("{% for i in l recursive %}{% endfor %}", "recursive");
}

}  // namespace
}  // namespace gumbel::jinja
