#include "backends/cpu/cpu_backend.h"
#include "backends/cpu/sample.h"
#include "runtime/sample_operands.h"

namespace gumbel::cpu {

void CpuBackend::sample(const OpCall& call) const {
  const int64_t vocab = call.inputs[0].last();
  const size_t bytes = SampleScratch::bytes(vocab);
  int64_t* tokens = call.outputs[0].as<int64_t>();
  pool_.parallel_for(static_cast<size_t>(call.outputs[0].dims[0]), [&](size_t row) {
    SampleScratch scratch(call.scratch.subspan(row * bytes, bytes), vocab);
    const auto b = static_cast<int64_t>(row);
    tokens[row] = sample_row(target_, sample_logits(call, b), sample_parameters(call, b), scratch);
  });
}

}  // namespace gumbel::cpu
