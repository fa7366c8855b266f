// The one place that knows every backend.
#include "backends/reference/reference_backend.h"
#include "base/error.h"
#include "runtime/backend.h"

namespace gumbel {

std::unique_ptr<Backend> make_backend(std::string_view name, int threads) {
  if (name == "reference") return make_reference_backend();
  (void)threads;
  fail(ErrorCode::kUnsupported, "backend: expected one of cpu, reference, got '{}'", name);
}

}  // namespace gumbel
