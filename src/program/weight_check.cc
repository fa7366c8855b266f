#include "program/weight_check.h"

#include <algorithm>
#include <system_error>

#include "base/checksum.h"
#include "base/populate.h"

namespace gumbel {
namespace {

// Small enough that stopping takes milliseconds where pages come from a disk.
constexpr size_t kStep = size_t{8} << 20;

}  // namespace

WeightCheck::WeightCheck(const ProgramFile& file) : file_(&file) {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error&) {
    // Without a thread, pages come when they are touched.
  }
}

void WeightCheck::run(const std::stop_token& stop) {
  for (size_t i = 0; i < file_->program().weights.size(); ++i) {
    Checksum checksum;
    for (auto rest = file_->weight_bytes(i); !rest.empty();) {
      const auto step = rest.first(std::min(kStep, rest.size()));
      if (stop.stop_requested() || !populate(step)) return;
      checksum.add(step);
      rest = rest.subspan(step.size());
    }
    if (checksum.value() != file_->program().weights[i].checksum) {
      damaged_ = static_cast<std::ptrdiff_t>(i);
      return;
    }
  }
}

void WeightCheck::expect_sound() const {
  const std::ptrdiff_t damaged = damaged_.load(std::memory_order_relaxed);
  if (damaged >= 0) file_->check_weight(static_cast<size_t>(damaged));
}

}  // namespace gumbel
