#include "export/models/family.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace gumbel {
namespace {

constexpr std::pair<std::string_view, BuildHidden> kFamilies[] = {
    {"llama", build_llama},   {"qwen3", build_qwen3},     {"gemma3", build_gemma3},
    {"gemma4", build_gemma4}, {"qwen3_5", build_qwen3_5}, {"qwen3_5_moe", build_qwen3_5},
};

}  // namespace

BuildHidden model_family(std::string_view architecture) {
  std::string known;
  for (const auto& [name, build] : kFamilies) {
    if (name == architecture) return build;
    known += known.empty() ? "" : ", ";
    known += name;
  }
  fail(ErrorCode::kUnsupported, "architecture: expected one of {}, got '{}'", known, architecture);
}

}  // namespace gumbel
