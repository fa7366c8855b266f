// A program file on a backend, called with plain vectors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "program/program_file.h"
#include "runtime/executor.h"
#include "runtime/weights.h"

namespace gumbel::test {

/// Parameters of a draw, each with one value or one a row.
struct DrawInputs {
  std::vector<float> temperature = {1.0f};
  std::vector<int64_t> top_k = {0};
  std::vector<float> top_p = {1.0f};
  std::vector<int64_t> seed = {0};
  std::vector<float> min_p = {0.0f};
};

/// [1 or B] inputs over the vectors of `draw`, which must outlive them.
std::vector<Tensor> tensors(const DrawInputs& draw);

/// i64 [rows, numbers / rows] over `numbers`.
Tensor matrix(const std::vector<int64_t>& numbers, int64_t rows);

/// The positions first[row] to first[row] + time - 1 of every row.
std::vector<int64_t> positions(const std::vector<int64_t>& first, int64_t time);

/// A loaded program, its methods planned for up to `max_batch` rows of the longest chunk.
class RunningProgram {
 public:
  RunningProgram(const std::filesystem::path& path, std::unique_ptr<Backend> backend,
                 int64_t max_batch);

  const Program& program() const { return file_.program(); }
  Executor& executor(const std::string& method);
  SessionState new_state(int64_t batch) const { return SessionState(file_.program(), batch); }

  /// Calls `method` with tokens [rows of first, T] from those positions on; `draw` where it
  /// samples.
  const Tensor& call(const std::string& method, const std::vector<int64_t>& tokens,
                     const std::vector<int64_t>& first, SessionState& state,
                     const DrawInputs* draw = nullptr);
  std::vector<float> logits(const std::string& method, const std::vector<int64_t>& tokens,
                            const std::vector<int64_t>& first, SessionState& state);
  std::vector<int64_t> draw(const std::vector<int64_t>& tokens, const std::vector<int64_t>& first,
                            SessionState& state, const DrawInputs& draw);
  /// Logits of every position of one row, fed to forward_all in chunks.
  std::vector<float> all_logits(const std::vector<int64_t>& tokens, int64_t chunk);

 private:
  ProgramFile file_;
  std::unique_ptr<Backend> backend_;
  Weights weights_;
  int64_t max_batch_;
  std::map<std::string, std::unique_ptr<Executor>> executors_;
};

}  // namespace gumbel::test
