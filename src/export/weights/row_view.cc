#include "export/weights/row_view.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/quote.h"

namespace gumbel {
namespace {

void append(WeightRows& to, const WeightRows& from) {
  const auto join = [](auto& a, const auto& b) { a.insert(a.end(), b.begin(), b.end()); };
  join(to.floats, from.floats);
  join(to.halves, from.halves);
  join(to.codes, from.codes);
  join(to.scale, from.scale);
  join(to.sub_scale, from.sub_scale);
  join(to.minimum, from.minimum);
  join(to.sub_minimum, from.sub_minimum);
  to.rows += from.rows;
}

// Rows [first, first + N) of each matrix of a tensor [E, M, K], as a tensor [E, N, K].
class RowView : public CheckpointTensor {
 public:
  RowView(const CheckpointTensor& tensor, int64_t first, int64_t rows)
      : tensor_(tensor), first_(first), shape_(tensor.shape()) {
    shape_[1] = rows;
  }

  WeightType type() const override { return tensor_.type(); }
  const std::vector<int64_t>& shape() const override { return shape_; }

  void read_rows(int64_t first, int64_t count, WeightRows& out) const override {
    check_row_range(shape_, first, count);
    out.resize(type(), 0, shape_[2]);
    for_each_part(first, count, [&](int64_t source, int64_t part) {
      if (part == count) return tensor_.read_rows(source, part, out);
      WeightRows rows;
      tensor_.read_rows(source, part, rows);
      append(out, rows);
    });
  }

  void release_rows(int64_t first, int64_t count) const override {
    for_each_part(first, count,
                  [&](int64_t source, int64_t part) { tensor_.release_rows(source, part); });
  }

 private:
  // Calls visit(first, count) for the rows of the whole tensor that make up these of the view.
  template <typename Visit>
  void for_each_part(int64_t first, int64_t count, const Visit& visit) const {
    for (const int64_t end = first + count; first < end;) {
      const int64_t in_matrix = first % shape_[1];
      const int64_t part = std::min(end - first, shape_[1] - in_matrix);
      visit(first / shape_[1] * tensor_.shape()[1] + first_ + in_matrix, part);
      first += part;
    }
  }

  const CheckpointTensor& tensor_;
  int64_t first_;
  std::vector<int64_t> shape_;
};

}  // namespace

void split_gate_up(CheckpointIndex& index, const std::string& prefix) {
  const CheckpointTensor& tensor = index.find(prefix + "gate_up_proj");
  const std::vector<int64_t>& shape = tensor.shape();
  if (shape.size() != 3 || shape[1] % 2 != 0)
    fail(ErrorCode::kCorruptFile,
         "{}: tensor {}: expected shape [experts, an even number, K], got {}", index.source(),
         quote(prefix + "gate_up_proj"), shape_text(shape));
  const int64_t half = shape[1] / 2;
  index.add(prefix + "gate_proj", std::make_unique<RowView>(tensor, 0, half));
  index.add(prefix + "up_proj", std::make_unique<RowView>(tensor, half, half));
}

}  // namespace gumbel
