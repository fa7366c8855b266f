#include "runtime/running_program.h"

#include <algorithm>

namespace gumbel::test {
namespace {

template <typename T>
Tensor vector(const std::vector<T>& numbers, DataType type) {
  return {type,
          1,
          {static_cast<int64_t>(numbers.size())},
          reinterpret_cast<std::byte*>(const_cast<T*>(numbers.data()))};
}

}  // namespace

std::vector<Tensor> tensors(const DrawInputs& draw) {
  return {vector(draw.temperature, DataType::kF32), vector(draw.top_k, DataType::kI64),
          vector(draw.top_p, DataType::kF32), vector(draw.seed, DataType::kI64),
          vector(draw.min_p, DataType::kF32)};
}

Tensor matrix(const std::vector<int64_t>& numbers, int64_t rows) {
  return {DataType::kI64,
          2,
          {rows, static_cast<int64_t>(numbers.size()) / rows},
          reinterpret_cast<std::byte*>(const_cast<int64_t*>(numbers.data()))};
}

std::vector<int64_t> positions(const std::vector<int64_t>& first, int64_t time) {
  std::vector<int64_t> all;
  for (const int64_t start : first)
    for (int64_t t = 0; t < time; ++t) all.push_back(start + t);
  return all;
}

RunningProgram::RunningProgram(const std::filesystem::path& path, std::unique_ptr<Backend> backend,
                               int64_t max_batch)
    : file_(path),
      backend_(std::move(backend)),
      weights_(file_, *backend_),
      max_batch_(max_batch) {}

Executor& RunningProgram::executor(const std::string& method) {
  auto& executor = executors_[method];
  if (!executor)
    executor =
        std::make_unique<Executor>(program(), *program().method(method), weights_.all(), *backend_,
                                   max_batch_, program().constant("get_max_prefill_chunk"));
  return *executor;
}

const Tensor& RunningProgram::call(const std::string& method, const std::vector<int64_t>& tokens,
                                   const std::vector<int64_t>& first, SessionState& state,
                                   const DrawInputs* draw) {
  const auto rows = static_cast<int64_t>(first.size());
  const std::vector<int64_t> input_pos =
      positions(first, static_cast<int64_t>(tokens.size()) / rows);
  std::vector<Tensor> inputs = {matrix(tokens, rows), matrix(input_pos, rows)};
  if (draw != nullptr) {
    const std::vector<Tensor> parameters = tensors(*draw);
    inputs.insert(inputs.end(), parameters.begin(), parameters.end());
  }
  return executor(method).run(inputs, &state)[0];
}

std::vector<float> RunningProgram::logits(const std::string& method,
                                          const std::vector<int64_t>& tokens,
                                          const std::vector<int64_t>& first, SessionState& state) {
  const Tensor& out = call(method, tokens, first, state);
  return {out.as<float>(), out.as<float>() + out.elements()};
}

std::vector<int64_t> RunningProgram::draw(const std::vector<int64_t>& tokens,
                                          const std::vector<int64_t>& first, SessionState& state,
                                          const DrawInputs& draw) {
  const Tensor& out = call("forward", tokens, first, state, &draw);
  return {out.as<int64_t>(), out.as<int64_t>() + out.elements()};
}

std::vector<float> RunningProgram::all_logits(const std::vector<int64_t>& tokens, int64_t chunk) {
  SessionState state = new_state(1);
  std::vector<float> all;
  for (size_t at = 0; at < tokens.size();) {
    const auto count = std::min(tokens.size() - at, static_cast<size_t>(chunk));
    const auto begin = tokens.begin() + static_cast<int64_t>(at);
    const std::vector<float> part =
        logits("forward_all", {begin, begin + static_cast<int64_t>(count)},
               {static_cast<int64_t>(at)}, state);
    all.insert(all.end(), part.begin(), part.end());
    at += count;
  }
  return all;
}

}  // namespace gumbel::test
