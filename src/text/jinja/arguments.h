// Arguments by the parameters of what is called.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/values.h"

namespace gumbel::jinja {

/// The arguments of a call in the order of its parameters. Each function throws
/// Error(kInvalidArgument) for a missing argument that has no default and for a value of another
/// type.
class BoundArguments {
 public:
  /// Throws Error(kInvalidArgument) for more arguments than `parameters`, one given twice, and a
  /// name that is no parameter.
  BoundArguments(std::string_view function, const Arguments& arguments,
                 std::initializer_list<std::string_view> parameters);

  /// The argument, or null where it was not given.
  const Value* find(std::size_t parameter) const { return values_[parameter]; }
  /// Likewise, and null where it is none.
  const Value* find_some(std::size_t parameter) const;
  const Value& get(std::size_t parameter) const;
  Value get(std::size_t parameter, Value otherwise) const;
  const Text& text(std::size_t parameter) const;
  Text text(std::size_t parameter, std::string_view otherwise) const;
  std::int64_t integer(std::size_t parameter) const;
  std::int64_t integer(std::size_t parameter, std::int64_t otherwise) const;
  bool is_true(std::size_t parameter, bool otherwise) const;

  /// Throws Error(kInvalidArgument) that says what the parameter should be.
  [[noreturn]] void refuse_type(std::size_t parameter, std::string_view wanted) const;

 private:
  std::string function_;
  std::vector<std::string_view> parameters_;
  std::vector<const Value*> values_;
};

}  // namespace gumbel::jinja
