// Chat templates: compiled, and rendered over a conversation with a tool.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/error.h"
#include "text/jinja/jinja.h"

namespace {

using gumbel::jinja::Value;

std::vector<std::pair<std::string, Value>> conversation() {
  const auto json = nlohmann::ordered_json::parse(R"({
    "messages": [
      {"role": "user", "content": "Hi {{ x }} \u00e9\ud83d\ude42"},
      {"role": "assistant", "content": "<think>\nhm\n</think>\n\nYes.", "tool_calls": [
        {"type": "function", "function": {"name": "clock", "arguments": {"a": 1.5, "b": [null]}}}]},
      {"role": "tool", "content": "12:00"}],
    "tools": [{"type": "function", "function": {"name": "clock", "parameters": {"type": "object"}}}],
    "add_generation_prompt": true, "x": 5, "l": [3, 1, 2], "s": "Hello World"})");
  std::vector<std::pair<std::string, Value>> variables;
  for (const auto& [name, value] : json.items()) {
    variables.emplace_back(name, Value::from_json(value));
  }
  return variables;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static const auto variables = conversation();
  const gumbel::jinja::Limits limits{.steps = 100'000, .bytes = 1U << 20U};
  try {
    const gumbel::jinja::Template source({reinterpret_cast<const char*>(bytes), size});
    (void)source.render(variables, limits);
  } catch (const gumbel::Error&) {
  }
  return 0;
}
