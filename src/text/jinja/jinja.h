// Chat templates: the part of Jinja2 that published ones use, in bounded work and memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gumbel::jinja {

/// Who wrote a stretch of text.
enum class Origin : std::uint8_t {
  kTemplate,  ///< The template itself: its literals may spell control tokens.
  kValue,     ///< A variable: a person's or a tool's words, in which nothing is a control token.
};

struct Stretch {
  std::string text;
  Origin origin = Origin::kTemplate;
  bool operator==(const Stretch&) const = default;
};

/// A value of a template's variable. Copies share what they hold, which never changes.
class Value {
 public:
  Value();  ///< none
  explicit Value(bool boolean);
  explicit Value(std::int64_t integer);
  explicit Value(double number);
  /// Every string has its origin with it, through all that a template does with it.
  static Value string(std::string_view text, Origin origin = Origin::kValue);
  static Value list(std::vector<Value> items);
  /// The order of the items is kept; names have the template's origin.
  static Value dict(std::vector<std::pair<std::string, Value>> items);
  /// Strings in it have `origin`, names of members too.
  static Value from_json(const nlohmann::ordered_json& json, Origin origin = Origin::kValue);

  struct Data;  // the interpreter's
  explicit Value(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
  const Data& data() const { return *data_; }

 private:
  std::shared_ptr<const Data> data_;
};

/// What rendering may take.
struct Limits {
  std::size_t steps = 10'000'000;  ///< expressions and statements evaluated, characters compared
  std::size_t bytes = 64U << 20U;  ///< text and values made, all together
};

/// A compiled template, in the dialect of Hugging Face's chat templates: Jinja2 3.1 with
/// trim_blocks, lstrip_blocks and loop controls, in its immutable sandbox, with raise_exception,
/// strftime_now (at a fixed date: the 26th of July 2024), tojson as Python's json.dumps without
/// escapes beyond ASCII, and generation blocks.
class Template {
 public:
  /// Throws Error(kInvalidArgument), with the line, for what is no template and for what published
  /// templates do not use; blocks and parentheses nest at most 100 deep, and `source` has at most
  /// 1 MiB.
  explicit Template(std::string_view source);
  ~Template();
  Template(Template&&) noexcept;
  Template& operator=(Template&&) noexcept;

  /// The text, in stretches of one origin each; neighbours differ in origin, none is empty.
  /// Throws Error(kInvalidArgument) for what the template refuses (raise_exception, whose message
  /// the error has), for what Jinja2 refuses, and where `limits` are reached.
  std::vector<Stretch> render(const std::vector<std::pair<std::string, Value>>& variables,
                              const Limits& limits = {}) const;

  /// Whether the template's text names this variable anywhere.
  bool reads(std::string_view variable) const;

 private:
  struct Program;
  std::unique_ptr<const Program> program_;
};

}  // namespace gumbel::jinja
