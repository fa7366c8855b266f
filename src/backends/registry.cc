// The one place that knows every backend.
#include "backends/cpu/cpu_backend.h"
#include "backends/reference/reference_backend.h"
#include "base/error.h"
#include "runtime/backend.h"

namespace gumbel {

std::unique_ptr<Backend> make_backend(std::string_view name, int threads) {
  if (name == "cpu") return cpu::make_cpu_backend(threads);
  if (name == "reference") return make_reference_backend();
  fail(ErrorCode::kUnsupported, "backend: expected one of cpu, reference, got '{}'", name);
}

}  // namespace gumbel
