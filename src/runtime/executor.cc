#include "runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <optional>

#include "base/error.h"

namespace gumbel {
namespace {

MemoryPlan checked_plan(const Program& program, const Method& method, int64_t max_batch,
                        int64_t max_time) {
  // A cache with a window has room for one chunk beside it, and no more.
  const int64_t most = program.constant("get_max_prefill_chunk");
  if (max_batch < 1 || max_time < 1 || max_time > most)
    fail(ErrorCode::kInvalidArgument,
         "method {}: expected a plan for at least 1 row and 1 to {} positions, got {} of {}",
         method.name, most, max_batch, max_time);
  return plan_memory(method, max_batch, max_time);
}

// Which input of the op holds positions; a sample op may lack it.
std::optional<size_t> position_operand(const Node& node) {
  switch (node.op) {
    case Op::kRotaryTable:
      return 0;
    case Op::kAttention:
    case Op::kCausalConv:
      return 1;
    case Op::kCacheUpdate:
      return 2;
    case Op::kGatedDeltaRule:
      return 5;
    case Op::kSample:
      return node.inputs.size() > 6 ? std::optional<size_t>(6) : std::nullopt;
    default:
      return std::nullopt;
  }
}

void append(std::vector<int32_t>& to, const std::vector<int32_t>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

}  // namespace

Executor::Executor(const Program& program, const Method& method,
                   std::span<const PackedWeight> weights, Backend& backend, int64_t max_batch,
                   int64_t max_time)
    : program_(program),
      method_(method),
      backend_(backend),
      max_batch_(max_batch),
      max_time_(max_time),
      plan_(checked_plan(program, method, max_batch, max_time)),
      values_(method.values.size()),
      token_limits_(method.inputs.size()),
      is_position_(method.inputs.size()) {
  // verify() has seen to it that tokens and positions are inputs.
  const auto input_of = [&](int32_t value) {
    size_t i = 0;
    while (method.inputs[i].value != value) ++i;
    return i;
  };
  for (const Node& node : method.nodes) {
    append(operand_values_, node.inputs);
    append(operand_values_, node.outputs);
    for (const int32_t weight : node.weights)
      weights_.push_back(weights[static_cast<size_t>(weight)]);
    has_state_ |= node.state >= 0;
    if (node.op == Op::kEmbedding) {
      int64_t& limit = token_limits_[input_of(node.inputs[0])];
      const int64_t rows = weights_.back().rows;
      limit = limit == 0 ? rows : std::min(limit, rows);
    }
    if (const auto operand = position_operand(node))
      is_position_[input_of(node.inputs[*operand])] = true;
  }

  // Scratch for the node that needs most; the vectors have their final size, so spans stay valid.
  operands_.resize(operand_values_.size());
  const Extent largest{max_batch, max_time};
  Tensor* operand = operands_.data();
  const PackedWeight* weight = weights_.data();
  for (size_t i = 0; i < operands_.size(); ++i)
    operands_[i] = resolved(method.values[static_cast<size_t>(operand_values_[i])], largest);
  for (const Node& node : method.nodes) {
    OpCall call;
    call.node = &node;
    call.inputs = {operand, node.inputs.size()};
    call.outputs = {operand + node.inputs.size(), node.outputs.size()};
    call.weights = {weight, node.weights.size()};
    operand += node.inputs.size() + node.outputs.size();
    weight += node.weights.size();
    KvCache cache;
    if (node.state >= 0 && !has_recurrent_state(node.op)) {
      cache = kv_cache_shape(program, static_cast<size_t>(node.state), max_batch);
      call.cache = &cache;
    }
    scratch_bytes_ = std::max(scratch_bytes_, backend.scratch_bytes(call));
    call.cache = nullptr;
    calls_.push_back(call);
  }
  arena_ = ZeroedMemory(plan_.bytes + scratch_bytes_, "activations");
  for (OpCall& call : calls_) call.scratch = arena_.bytes().subspan(plan_.bytes);
  outputs_.resize(method.outputs.size());
}

Tensor Executor::resolved(const Value& value, Extent extent) const {
  Tensor tensor;
  tensor.type = value.type;
  tensor.rank = static_cast<int>(value.shape.size());
  for (size_t i = 0; i < value.shape.size(); ++i)
    tensor.dims[i] = resolve(value.shape[i], extent.batch, extent.time);
  return tensor;
}

Executor::Extent Executor::check_shapes(std::span<const Tensor> inputs) const {
  Extent extent{0, 0};
  if (inputs.size() > method_.inputs.size())
    fail(ErrorCode::kInvalidArgument, "{}: expected at most {} inputs, got {}", method_.name,
         method_.inputs.size(), inputs.size());
  // B first, as [1 or B] inputs refer to it.
  for (const bool per_row : {false, true}) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Value& value = method_.values[static_cast<size_t>(method_.inputs[i].value)];
      if ((value.shape[0] == kPerRow) != per_row) continue;
      bool fits =
          inputs[i].type == value.type && inputs[i].rank == static_cast<int>(value.shape.size());
      for (size_t d = 0; fits && d < value.shape.size(); ++d) {
        const int64_t dim = inputs[i].dims[d];
        int64_t* symbol = value.shape[d] == kTime    ? &extent.time
                          : value.shape[d] == kBatch ? &extent.batch
                                                     : nullptr;
        if (symbol != nullptr && *symbol == 0) *symbol = dim;
        fits = value.shape[d] == kPerRow ? dim == 1 || dim == extent.batch
               : symbol != nullptr       ? dim == *symbol && dim > 0
                                         : dim == value.shape[d];
      }
      if (!fits)
        fail(ErrorCode::kInvalidArgument,
             "{}: input {}: expected {} {} with B = {} and T = {}, got {} {}", method_.name,
             value.name, name(value.type), to_string(value.shape), extent.batch, extent.time,
             name(inputs[i].type),
             to_string(Shape(inputs[i].dims.begin(), inputs[i].dims.begin() + inputs[i].rank)));
    }
  }
  for (size_t i = inputs.size(); i < method_.inputs.size(); ++i)
    if (!method_.inputs[i].default_value.has_value())
      fail(ErrorCode::kInvalidArgument, "{}: expected an input {}", method_.name,
           method_.values[static_cast<size_t>(method_.inputs[i].value)].name);
  extent = {std::max<int64_t>(extent.batch, 1), std::max<int64_t>(extent.time, 1)};
  if (extent.batch > max_batch_ || extent.time > max_time_)
    fail(ErrorCode::kInvalidArgument, "{}: expected at most {} rows of {} positions, got {} of {}",
         method_.name, max_batch_, max_time_, extent.batch, extent.time);
  return extent;
}

void Executor::check_values(std::span<const Tensor> inputs, const SessionState* state) const {
  const int64_t max_length = program_.constant("get_max_seq_len");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const int64_t* numbers = inputs[i].as<int64_t>();
    if (token_limits_[i] > 0) {
      for (int64_t k = 0; k < inputs[i].elements(); ++k)
        if (numbers[k] < 0 || numbers[k] >= token_limits_[i])
          fail(ErrorCode::kInvalidArgument, "{}: expected token ids from 0 to {}, got {}",
               method_.name, token_limits_[i] - 1, numbers[k]);
    }
    if (!is_position_[i]) continue;
    const int64_t time = inputs[i].dims[1];
    for (int64_t row = 0; row < inputs[i].dims[0]; ++row, numbers += time) {
      if (numbers[0] < 0 || numbers[0] > max_length - time)
        fail(ErrorCode::kInvalidArgument,
             "{}: input_pos: expected {} positions within 0 to {}, got {} as the first",
             method_.name, time, max_length - 1, numbers[0]);
      for (int64_t t = 1; t < time; ++t)
        if (numbers[t] != numbers[0] + t)
          fail(ErrorCode::kInvalidArgument, "{}: input_pos: expected {} after {}, got {}",
               method_.name, numbers[0] + t, numbers[t - 1], numbers[t]);
      if (state != nullptr) state->check_position(row, numbers[0]);
    }
  }
}

void Executor::place_inputs(std::span<const Tensor> inputs) {
  for (size_t i = 0; i < method_.inputs.size(); ++i) {
    const auto value = static_cast<size_t>(method_.inputs[i].value);
    Tensor& tensor = values_[value];
    if (i < inputs.size()) {
      tensor.dims = inputs[i].dims;  // a [1 or B] input keeps the size it came with
      std::memcpy(tensor.data, inputs[i].data,
                  static_cast<size_t>(tensor.elements() * size_of(tensor.type)));
      continue;
    }
    const double number = *method_.inputs[i].default_value;
    tensor.dims[0] = 1;
    if (tensor.type == DataType::kI64)
      *tensor.as<int64_t>() = static_cast<int64_t>(number);
    else
      *tensor.as<float>() = static_cast<float>(number);
  }
}

std::span<const Tensor> Executor::run(std::span<const Tensor> inputs, SessionState* state) {
  const Extent extent = check_shapes(inputs);
  if (has_state_ && state == nullptr)
    fail(ErrorCode::kInvalidArgument, "{}: expected a session's state", method_.name);
  if (has_state_ && state->batch() != extent.batch)
    fail(ErrorCode::kInvalidArgument, "{}: expected {} rows as the session has, got {}",
         method_.name, state->batch(), extent.batch);
  check_values(inputs, has_state_ ? state : nullptr);

  for (size_t i = 0; i < values_.size(); ++i) {
    values_[i] = resolved(method_.values[i], extent);
    values_[i].data = arena_.bytes().data() + plan_.offsets[i];
  }
  place_inputs(inputs);
  for (size_t i = 0; i < operands_.size(); ++i)
    operands_[i] = values_[static_cast<size_t>(operand_values_[i])];

  for (OpCall& call : calls_) {
    if (call.node->state >= 0) {
      const auto i = static_cast<size_t>(call.node->state);
      if (has_recurrent_state(call.node->op))
        call.recurrent = &state->recurrent(i);
      else
        call.cache = &state->cache(i);
    }
    if (call.node->op != Op::kSample) {
      backend_.execute(call);
      continue;
    }
    const auto start = std::chrono::steady_clock::now();
    backend_.execute(call);
    sampling_seconds_ +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }

  for (size_t i = 0; has_state_ && i < inputs.size(); ++i) {
    if (!is_position_[i]) continue;
    const int64_t time = inputs[i].dims[1];
    for (int64_t row = 0; row < extent.batch; ++row)
      state->extend(row, inputs[i].as<int64_t>()[row * time], time);
  }
  for (size_t i = 0; i < outputs_.size(); ++i)
    outputs_[i] = values_[static_cast<size_t>(method_.outputs[i])];
  return outputs_;
}

}  // namespace gumbel
