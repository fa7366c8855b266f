#include "export/graph/sampling_head.h"

#include <string>
#include <utility>

#include "base/error.h"

namespace gumbel {

namespace {

void check_method(const Method& method) {
  const Value* logits =
      method.outputs.size() == 1 ? &method.values[static_cast<size_t>(method.outputs[0])] : nullptr;
  const bool fits =
      logits != nullptr && logits->type == DataType::kF32 &&
      (logits->shape.size() == 2 || (logits->shape.size() == 3 && logits->shape[1] == kTime)) &&
      logits->shape[0] == kBatch && logits->shape.back() > 0 && logits->shape.back() < (1 << 23);
  if (!fits)
    fail(ErrorCode::kInvalidArgument,
         "sampling head: expected method {} to return logits f32 [B, V] or [B, T, V] with "
         "V below 2^23, got {}",
         method.name,
         logits == nullptr ? fmt::format("{} outputs", method.outputs.size())
                           : fmt::format("{} {}", name(logits->type), to_string(logits->shape)));
  for (const Input& input : method.inputs) {
    const std::string& own = method.values[static_cast<size_t>(input.value)].name;
    for (const char* gained : {"temperature", "top_k", "top_p", "seed", "min_p"})
      if (own == gained)
        fail(ErrorCode::kInvalidArgument, "sampling head: method {} already has an input {}",
             method.name, own);
    if (input.default_value.has_value())
      fail(ErrorCode::kInvalidArgument,
           "sampling head: expected method {} without defaults, input {} has one", method.name,
           own);
  }
}

}  // namespace

void add_sampling_head(const Program& program, Method& method) {
  check_method(method);
  Node sample;
  sample.op = Op::kSample;
  sample.inputs = method.outputs;
  const Value position{"input_pos", DataType::kI64, {kBatch, kTime}};
  int32_t input_pos = -1;
  for (const Input& input : method.inputs)
    if (method.values[static_cast<size_t>(input.value)] == position) input_pos = input.value;

  const auto add_input = [&](std::string name, DataType type, std::optional<double> by_default) {
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
