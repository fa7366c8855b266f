#include "backends/reference/ops.h"
#include "runtime/sample_operands.h"
#include "sampling/sampler.h"

namespace gumbel::reference {

void sample(const OpCall& call) {
  const Tensor& tokens = call.outputs[0];
  for (int64_t row = 0; row < tokens.dims[0]; ++row)
    tokens.as<int64_t>()[row] =
        gumbel::sample(sample_logits(call, row), sample_parameters(call, row));
}

}  // namespace gumbel::reference
