#include "engine/host_sampler.h"

namespace gumbel {
namespace {

// A tensor of shape [1], or [1, 1] for rank 2, over `number`.
template <typename T>
Tensor scalar(T& number, DataType type, int rank = 1) {
  return {type, rank, {1, 1}, reinterpret_cast<std::byte*>(&number)};
}

}  // namespace

HostSampler::HostSampler(Backend& backend, int64_t vocab_size) : backend_(backend) {
  node_.op = Op::kSample;
  inputs_ = {Tensor{DataType::kF32, 2, {1, vocab_size}},
             scalar(parameters_.temperature, DataType::kF32),
             scalar(parameters_.top_k, DataType::kI64),
             scalar(parameters_.top_p, DataType::kF32),
             scalar(seed_, DataType::kI64),
             scalar(parameters_.min_p, DataType::kF32),
             scalar(position_before_, DataType::kI64, 2)};
  output_ = scalar(token_, DataType::kI64);
  call_.node = &node_;
  call_.inputs = inputs_;
  call_.outputs = {&output_, 1};
  scratch_ = ZeroedMemory(backend.scratch_bytes(call_), "host sampling");
  call_.scratch = scratch_.bytes();
}

int64_t HostSampler::draw(const Tensor& logits, const SamplingParameters& parameters) {
  inputs_[0] = logits;
  parameters_ = parameters;
  seed_ = static_cast<int64_t>(parameters.seed);
  position_before_ = static_cast<int64_t>(parameters.position) - 1;
  backend_.execute(call_);
  return token_;
}

}  // namespace gumbel
