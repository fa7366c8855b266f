#include "export/sampling_head.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace gumbel {

void add_sampling_head(const Program& program, Method& method) {
  if (method.outputs.size() != 1)
    fail(ErrorCode::kInvalidArgument, "sampling head: expected method {} to have 1 output, got {}",
         method.name, method.outputs.size());
  Node sample;
  sample.op = Op::kSample;
  sample.inputs = method.outputs;
  const Value position{"input_pos", DataType::kI64, {kBatch, kTime}};
  int32_t input_pos = -1;
  for (const Input& input : method.inputs)
    if (method.values[static_cast<size_t>(input.value)] == position) input_pos = input.value;

  const auto add_input = [&](std::string name, DataType type, std::optional<double> by_default) {
    for (const Input& input : method.inputs)
      if (method.values[static_cast<size_t>(input.value)].name == name)
        fail(ErrorCode::kInvalidArgument, "sampling head: method {} already has an input {}",
             method.name, name);
    const auto id = static_cast<int32_t>(method.values.size());
    method.values.push_back({std::move(name), type, {kPerRow}});
    method.inputs.push_back({id, by_default});
    sample.inputs.push_back(id);
  };
  add_input("temperature", DataType::kF32, std::nullopt);
  add_input("top_k", DataType::kI64, std::nullopt);
  add_input("top_p", DataType::kF32, std::nullopt);
  add_input("seed", DataType::kI64, std::nullopt);
  add_input("min_p", DataType::kF32, 0.0);
  if (input_pos >= 0) sample.inputs.push_back(input_pos);

  Value token = infer_outputs(program, method, sample).front();
  token.name = "token";
  const auto id = static_cast<int32_t>(method.values.size());
  method.values.push_back(std::move(token));
  sample.outputs = {id};
  method.nodes.push_back(std::move(sample));
  method.outputs = {id};
}

}  // namespace gumbel
