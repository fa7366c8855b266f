#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/sample/sample.h"
#include "runtime/sample_operands.h"

namespace gumbel::cpu {

void CpuBackend::sample(const OpCall& call) const {
  const Tensor& logits = call.inputs[0];
  const int64_t rows = logits.dims[0];
  const LogitRows drawn = {sample_logits(call, 0).data(), rows, logits.last(),
                           logits.elements() / rows};
  // One reference is captured, so that std::function does not allocate.
  sample_rows(
      target_, pool_, drawn, [&call](int64_t row) { return sample_parameters(call, row); },
      call.outputs[0].as<int64_t>(), call.scratch);
}

}  // namespace gumbel::cpu
